"""How the papers train, one file a method. Each is imported on first use: Lightning takes seconds."""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.methods.cloc import CLOC
    from ordinate.methods.optimization import Optimization
    from ordinate.methods.otd import OTD
    from ordinate.methods.supcr import SupCR
    from ordinate.methods.supremix import SupReMix
    from ordinate.methods.training import train

_HOMES = {
    "CLOC": "ordinate.methods.cloc",
    "OTD": "ordinate.methods.otd",
    "Optimization": "ordinate.methods.optimization",
    "SupCR": "ordinate.methods.supcr",
    "SupReMix": "ordinate.methods.supremix",
    "train": "ordinate.methods.training",
}

__all__ = ["CLOC", "OTD", "Optimization", "SupCR", "SupReMix", "train"]

__getattr__, __dir__ = lazily("ordinate.methods", _HOMES)
