"""One of aeon's regressors, for benchmarks/series.py, in an environment of its own: aeon takes numba below 0.64.

    python series_aeon.py NAME SEED SERIES.npz

SERIES.npz holds X_train, y_train, X_test and y_test; what is printed is the RMSE on the test set and the seconds of
fitting and predicting, as JSON.
"""

import json
import sys
import time
from typing import Any

import numpy as np


def build(name: str, seed: int) -> Any:
    """Return a regressor with aeon's own settings."""
    from aeon.regression.convolution_based import MiniRocketRegressor, MultiRocketRegressor, RocketRegressor
    from aeon.regression.distance_based import KNeighborsTimeSeriesRegressor
    from aeon.regression.interval_based import DrCIFRegressor

    if name == "1-NN DTW":
        return KNeighborsTimeSeriesRegressor(distance="dtw", n_neighbors=1)
    convolutions = {"Rocket": RocketRegressor, "MiniRocket": MiniRocketRegressor, "MultiRocket": MultiRocketRegressor}
    return (convolutions | {"DrCIF": DrCIFRegressor})[name](random_state=seed)


def main(name: str, seed: str, path: str) -> None:
    """Fit, predict and print."""
    with np.load(path) as data:
        X_train, y_train, X_test, y_test = (data[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    start = time.perf_counter()
    predicted = build(name, int(seed)).fit(X_train, y_train).predict(X_test)
    rmse = float(np.sqrt(np.mean((predicted - y_test) ** 2)))
    print(json.dumps({"rmse": rmse, "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main(*sys.argv[1:])
