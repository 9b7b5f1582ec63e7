"""The losses as modules: thin over :mod:`ordinate.functional`, they hold options and margins, nothing else."""

from ordinate.losses.angular_triangle import AngularTriangleLoss
from ordinate.losses.embedding_memory import EmbeddingMemory
from ordinate.losses.mmnp import MMNPLoss
from ordinate.losses.supcr import SupCRLoss
from ordinate.losses.supremix import SupReMixLoss

__all__ = ["AngularTriangleLoss", "EmbeddingMemory", "MMNPLoss", "SupCRLoss", "SupReMixLoss"]
