"""Texts as words with vectors, as SupReMix reads them on STS-B-DIR."""
