"""Series (n, channels, length): options, reader and file formats."""
