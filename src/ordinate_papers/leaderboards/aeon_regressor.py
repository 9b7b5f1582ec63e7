"""One of aeon's regressors, run by the interpreter of an environment with aeon, which takes older packages than ours.

    python aeon_regressor.py NAME SEED SERIES.npz

SERIES.npz holds X_train, y_train and X_test. What is printed, as JSON, is what it predicts of X_test, and its seconds.
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
    with np.load(path, allow_pickle=False) as data:
        X_train, y_train, X_test = (data[key] for key in ("X_train", "y_train", "X_test"))
    start = time.perf_counter()
    predicted = build(name, int(seed)).fit(X_train, y_train).predict(X_test)
    print(json.dumps({"predicted": np.asarray(predicted).tolist(), "seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main(*sys.argv[1:])
