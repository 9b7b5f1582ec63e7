"""Ordinate: representations that follow an ordered label, by CLOC, SupCR (Rank-N-Contrast), SupReMix and OTD.

The losses are in :mod:`ordinate.functional` and :mod:`ordinate.losses`, the methods in :mod:`ordinate.methods`,
the scikit-learn estimators here. Everything is imported on first use: ``import ordinate`` costs nothing.
"""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily
from ordinate.version import __version__ as __version__

if TYPE_CHECKING:
    from ordinate.commands.fit.call import fit
    from ordinate.commands.load import load
    from ordinate.data.images.options import ImageOptions
    from ordinate.data.series.options import SeriesOptions
    from ordinate.data.tables.options import TableOptions
    from ordinate.data.tables.parquet_table import ParquetTable
    from ordinate.data.text.options import TextOptions
    from ordinate.data.volumes.options import VolumeOptions
    from ordinate.errors import OrdinateError
    from ordinate.estimators import (
        BlendClassifier,
        BlendRegressor,
        CLOCClassifier,
        Head,
        OTDClassifier,
        SupCRRegressor,
        SupReMixRegressor,
    )
    from ordinate.estimators.label_errors import find_label_errors
    from ordinate.losses import AngularTriangleLoss, MMNPLoss, SupCRLoss, SupReMixLoss
    from ordinate.training.options import Training


_HOMES = {
    **dict.fromkeys(
        (
            "BlendClassifier", "BlendRegressor", "CLOCClassifier", "Head", "OTDClassifier",
            "SupCRRegressor", "SupReMixRegressor",
        ),
        "ordinate.estimators",
    ),
    **dict.fromkeys(("AngularTriangleLoss", "MMNPLoss", "SupCRLoss", "SupReMixLoss"), "ordinate.losses"),
    "find_label_errors": "ordinate.estimators.label_errors",
    "fit": "ordinate.commands.fit.call",
    "load": "ordinate.commands.load",
    "ImageOptions": "ordinate.data.images.options",
    "ParquetTable": "ordinate.data.tables.parquet_table",
    "SeriesOptions": "ordinate.data.series.options",
    "TableOptions": "ordinate.data.tables.options",
    "TextOptions": "ordinate.data.text.options",
    "Training": "ordinate.training.options",
    "VolumeOptions": "ordinate.data.volumes.options",
    "OrdinateError": "ordinate.errors",
    **{
        name: f"ordinate.{name}"
        for name in (
            "adapters", "data", "decisions", "encoders", "estimators", "functional", "heads", "losses", "methods",
            "metrics", "model", "report", "training",
        )
    },
}  # fmt: skip

__all__ = [
    "AngularTriangleLoss", "BlendClassifier", "BlendRegressor", "CLOCClassifier",
    "Head", "ImageOptions", "MMNPLoss", "OTDClassifier", "OrdinateError", "ParquetTable",
    "SeriesOptions", "SupCRLoss", "SupCRRegressor", "SupReMixLoss", "SupReMixRegressor", "TableOptions", "TextOptions",
    "Training", "VolumeOptions", "find_label_errors", "fit", "load",
]  # fmt: skip

__getattr__, __dir__ = lazily("ordinate", _HOMES)
