"""The methods behind scikit-learn's interface, imported on first use."""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.estimators.blend import BlendClassifier, BlendRegressor
    from ordinate.estimators.cloc import CLOCClassifier
    from ordinate.estimators.head_options import Head
    from ordinate.estimators.otd import OTDClassifier
    from ordinate.estimators.plain import CrossEntropyClassifier, EndToEndRegressor
    from ordinate.estimators.supcr import SupCRRegressor
    from ordinate.estimators.supremix import SupReMixRegressor

_HOMES = {
    "BlendClassifier": "ordinate.estimators.blend",
    "BlendRegressor": "ordinate.estimators.blend",
    "CLOCClassifier": "ordinate.estimators.cloc",
    "CrossEntropyClassifier": "ordinate.estimators.plain",
    "EndToEndRegressor": "ordinate.estimators.plain",
    "Head": "ordinate.estimators.head_options",
    "OTDClassifier": "ordinate.estimators.otd",
    "SupCRRegressor": "ordinate.estimators.supcr",
    "SupReMixRegressor": "ordinate.estimators.supremix",
}

__all__ = [
    "BlendClassifier", "BlendRegressor", "CLOCClassifier", "CrossEntropyClassifier",
    "EndToEndRegressor", "Head", "OTDClassifier", "SupCRRegressor", "SupReMixRegressor",
]  # fmt: skip

__getattr__, __dir__ = lazily("ordinate.estimators", _HOMES)
