"""The models that a blend is made of, besides its networks, and their weights."""
