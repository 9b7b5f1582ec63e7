"""Tables: reader and file formats."""
