"""Ordinate: representations that follow an ordered label, by CLOC, SupCR (Rank-N-Contrast), SupReMix and OTD.

The losses are in :mod:`ordinate.functional` and :mod:`ordinate.losses`, the trainings in :mod:`ordinate.methods`,
the scikit-learn estimators here. Everything is imported on first use: ``import ordinate`` costs nothing.
"""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.data.image_options import ImageOptions
    from ordinate.data.parquet_table import ParquetTable
    from ordinate.data.series_options import SeriesOptions
    from ordinate.data.text_options import TextOptions
    from ordinate.data.volume_options import VolumeOptions
    from ordinate.errors import OrdinateError
    from ordinate.estimators import CLOCClassifier, OTDClassifier, SupCRRegressor, SupReMixRegressor, load
    from ordinate.methods.imbalance import Imbalance

__version__ = "0.1.0"

_SUBPACKAGES = (
    "bench", "data", "decisions", "encoders", "estimators", "functional", "heads", "losses", "methods", "metrics",
    "protocols", "report", "tables",
)  # fmt: skip
_HOMES = {
    "CLOCClassifier": "ordinate.estimators",
    "OTDClassifier": "ordinate.estimators",
    "SupCRRegressor": "ordinate.estimators",
    "SupReMixRegressor": "ordinate.estimators",
    "ImageOptions": "ordinate.data.image_options",
    "Imbalance": "ordinate.methods.imbalance",
    "ParquetTable": "ordinate.data.parquet_table",
    "SeriesOptions": "ordinate.data.series_options",
    "TextOptions": "ordinate.data.text_options",
    "VolumeOptions": "ordinate.data.volume_options",
    "load": "ordinate.estimators",
    "OrdinateError": "ordinate.errors",
    **{name: f"ordinate.{name}" for name in _SUBPACKAGES},
}

__all__ = [
    "CLOCClassifier", "ImageOptions", "Imbalance", "OTDClassifier", "OrdinateError", "ParquetTable", "SeriesOptions",
    "SupCRRegressor", "SupReMixRegressor", "TextOptions", "VolumeOptions", "load",
]  # fmt: skip

__getattr__, __dir__ = lazily("ordinate", _HOMES)
