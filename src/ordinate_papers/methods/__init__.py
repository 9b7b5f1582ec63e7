"""How the baselines of the papers train, one file per baseline."""
