"""The methods behind scikit-learn's interface."""

from ordinate.estimators.cloc import CLOCClassifier
from ordinate.estimators.otd import OTDClassifier
from ordinate.estimators.persistence import load
from ordinate.estimators.supcr import SupCRRegressor
from ordinate.estimators.supremix import SupReMixRegressor

__all__ = ["CLOCClassifier", "OTDClassifier", "SupCRRegressor", "SupReMixRegressor", "load"]
