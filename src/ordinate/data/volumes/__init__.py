"""Volumes (n, channels, depth, height, width): options, reader and file formats."""
