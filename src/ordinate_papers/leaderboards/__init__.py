"""Leaderboards: every model on every set of a kind, on the same splits, beside what others published."""
