"""Texts and pairs of texts: options, readers and word vectors."""
