"""aeon's regressors of time series, in an environment of their own."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ordinate.errors import OrdinateError

NAMES = ("1-NN DTW", "Rocket", "MiniRocket", "MultiRocket", "DrCIF")
SCRIPT = Path(__file__).with_name("aeon_regressor.py")


class Regressor:
    """A regressor of aeon, which another interpreter fits and predicts with in one go.

    Args:
        name: of the regressor.
        seed: of its random numbers.
        python: the interpreter.
    """

    def __init__(self, name: str, seed: int, python: str) -> None:
        self.name, self.seed, self.python = name, seed, python

    def fit(self, X: NDArray[Any], y: NDArray[np.float64]) -> Self:
        """Keep the training data."""
        self.X, self.y = X, y
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return what the regressor, trained on the data of ``fit``, predicts.

        Raises:
            OrdinateError: it failed.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "series.npz"
            np.savez(path, X_train=self.X, y_train=self.y, X_test=X)
            command = [self.python, str(SCRIPT), self.name, str(self.seed), str(path)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # the user's own
        if ended.returncode:
            raise OrdinateError("aeon", f"{self.python} failed: {ended.stderr.strip()[-500:]}", "one that imports aeon")
        shown = json.loads(ended.stdout.splitlines()[-1])
        self.seconds: float = shown["seconds"]
        return np.asarray(shown["predicted"], dtype=np.float64)
