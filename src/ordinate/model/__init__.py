"""A fitted model: what it predicts, how it is saved, and every question one may ask it."""
