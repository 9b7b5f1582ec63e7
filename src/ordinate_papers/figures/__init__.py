"""Pictures of the papers' protocols."""
