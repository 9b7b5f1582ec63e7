"""The formulas: pure functions of embeddings and labels, exact and fast."""

from ordinate.functional.angular_triangle import angular_distance, angular_triangle, angular_triangle_distance
from ordinate.functional.inputs import flatten_views
from ordinate.functional.mmnp import mmnp
from ordinate.functional.supcr import supcr
from ordinate.functional.supremix import supremix

__all__ = [
    "angular_distance", "angular_triangle", "angular_triangle_distance", "flatten_views", "mmnp", "supcr", "supremix",
]  # fmt: skip
