"""How the rivals of the four methods train, one file a rival."""
