"""How the papers train, one file per method. Each is imported on first use."""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.methods.cloc import CLOC
    from ordinate.methods.otd import OTD
    from ordinate.methods.supcr import SupCR
    from ordinate.methods.supremix import SupReMix
    from ordinate.training.gradient_caching import embed_in_chunks
    from ordinate.training.loop import train
    from ordinate.training.optimization import Optimization

_HOMES = {
    "CLOC": "ordinate.methods.cloc",
    "OTD": "ordinate.methods.otd",
    "Optimization": "ordinate.training.optimization",
    "SupCR": "ordinate.methods.supcr",
    "SupReMix": "ordinate.methods.supremix",
    "embed_in_chunks": "ordinate.training.gradient_caching",
    "train": "ordinate.training.loop",
}

__all__ = ["CLOC", "OTD", "Optimization", "SupCR", "SupReMix", "embed_in_chunks", "train"]

__getattr__, __dir__ = lazily("ordinate.methods", _HOMES)
