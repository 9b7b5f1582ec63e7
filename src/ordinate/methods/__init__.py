"""How the papers train, one file per method. Each is imported on first use."""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.data.samplers import ShuffledBatches
    from ordinate.data.training_batches import ArrayBatches
    from ordinate.methods.cloc import CLOC
    from ordinate.methods.otd import OTD
    from ordinate.methods.supcr import SupCR
    from ordinate.methods.supremix import SupReMix
    from ordinate.training.gradient_caching import embed_in_chunks
    from ordinate.training.loop import train
    from ordinate.training.optimization import Optimization

_HOMES = {
    "ArrayBatches": "ordinate.data.training_batches",
    "CLOC": "ordinate.methods.cloc",
    "OTD": "ordinate.methods.otd",
    "Optimization": "ordinate.training.optimization",
    "ShuffledBatches": "ordinate.data.samplers",
    "SupCR": "ordinate.methods.supcr",
    "SupReMix": "ordinate.methods.supremix",
    "embed_in_chunks": "ordinate.training.gradient_caching",
    "train": "ordinate.training.loop",
}

__all__ = [
    "CLOC", "OTD", "ArrayBatches", "Optimization", "ShuffledBatches", "SupCR", "SupReMix", "embed_in_chunks", "train",
]  # fmt: skip

__getattr__, __dir__ = lazily("ordinate.methods", _HOMES)
