"""The commands of the papers."""
