"""The losses as modules, which hold the options and margins of the functions in :mod:`ordinate.functional`."""

from ordinate.losses.angular_triangle import AngularTriangleLoss
from ordinate.losses.mmnp import MMNPLoss
from ordinate.losses.supcr import SupCRLoss
from ordinate.losses.supremix import SupReMixLoss

__all__ = ["AngularTriangleLoss", "MMNPLoss", "SupCRLoss", "SupReMixLoss"]
