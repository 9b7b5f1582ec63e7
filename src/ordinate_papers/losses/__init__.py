"""Losses that came after the papers: for ranks from logits, and for rare targets."""
