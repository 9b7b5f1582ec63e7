"""How the papers train, one file a method."""

from ordinate.methods.cloc import CLOC
from ordinate.methods.optimization import Optimization
from ordinate.methods.otd import OTD
from ordinate.methods.supcr import SupCR
from ordinate.methods.supremix import SupReMix
from ordinate.methods.training import train

__all__ = ["CLOC", "OTD", "Optimization", "SupCR", "SupReMix", "train"]
