"""Time of a training epoch and of pairing, methods side by side (SupCR, E.6, Table 14; OTD, C.3, Table 5)."""

import time
from collections.abc import Mapping
from statistics import median

import torch
from numpy.typing import ArrayLike
from sklearn.base import clone

from ordinate.checks import check_whole
from ordinate.data.rows import Samples
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.pipeline import learn_labels_and_reader
from ordinate.training.callback import Callback
from ordinate.training.loop import Loop
from ordinate_papers.protocols.parts import Figures


def epoch_time(estimators: Mapping[str, EmbeddingEstimator], X: Samples, y: ArrayLike, *, rounds: int = 3) -> Figures:
    """Median time of a training epoch of each estimator's representation, measured in turns.

    SupCR (Appendix E.6, Table 14): wall-clock seconds of an epoch of SupCR and of SupCon on four data sets, on 8 GPUs.
    Chosen here: the estimators are trained in turns, ``rounds`` times, so that other load on the machine slows
    all of them equally; epochs of the first stage count, except the first of each run, which warms up; nothing is held
    out for validation. What is the same for all (encoder, batch size, views) is the caller's to set.

    Args beyond those of :mod:`ordinate_papers.protocols`:
        estimators: Two or more estimators by name, not fitted; each trains at least two epochs in its first stage.
        rounds: Runs of each estimator.

    Returns:
        ``rows``, one per estimator: ``method``, ``seconds``, the median over all its epochs, ``epochs``, their number,
        ``ratio``, its seconds over those of the last one, and ``stages``, the median seconds of an epoch of every stage
        of its training; ``seconds``, from the name to those of every epoch.

    Example:
        >>> import numpy as np
        >>> from ordinate import SupCRRegressor, SupReMixRegressor
        >>> X = np.linspace(0, 1, 64)[:, None]
        >>> pair = {"SupCR": SupCRRegressor(epochs=(3, 1)), "SupReMix": SupReMixRegressor(epochs=(3, 1))}
        >>> [(row["method"], row["epochs"]) for row in epoch_time(pair, X, X[:, 0], rounds=2)["rows"]]
        [('SupCR', 4), ('SupReMix', 4)]
    """
    _check(estimators)
    seconds: dict[str, list[float]] = {name: [] for name in estimators}
    stages: dict[str, dict[int, list[float]]] = {name: {} for name in estimators}
    for _ in range(check_whole(rounds, "rounds")):
        for name, estimator in estimators.items():
            for stage, of_stage in _epochs_by_stage(estimator, X, y).items():
                first = int(stage == 0)  # The first epoch of a run warms up.
                stages[name].setdefault(stage, []).extend(of_stage[first:])
            seconds[name] = stages[name][0]
    for name, of_name in seconds.items():
        if not of_name:
            raise OrdinateError("estimators", f"one epoch in the first stage of {name!r}", "two or more")
    medians = {name: median(of_name) for name, of_name in seconds.items()}
    last = list(medians.values())[-1]
    rows = [
        {
            "method": name, "seconds": value, "epochs": len(seconds[name]), "ratio": value / last,
            "stages": [median(of_stage) for of_stage in stages[name].values()],
        }
        for name, value in medians.items()
    ]  # fmt: skip
    return {"rows": rows, "seconds": seconds}


def pairing_time(
    estimators: Mapping[str, EmbeddingEstimator], X: Samples, y: ArrayLike, *, rounds: int = 3
) -> dict[str, float]:
    """Median seconds in which the batches of an epoch are drawn, by the name of an estimator (OTD, Table 5).

    That is what pairing takes here: the paper's networks list pairs, triplets or quadruplets before an epoch, ours read
    them from the Gram matrix of a batch.

    Args beyond those of :mod:`ordinate_papers.protocols`:
        estimators: Two or more estimators by name, not fitted.
        rounds: Number of epochs that each draws, in turns.

    Example:
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier, OTDClassifier
        >>> X, y = np.linspace(0, 1, 64)[:, None], np.arange(64) // 16
        >>> list(pairing_time({"OTD": OTDClassifier(), "CLOC": CLOCClassifier()}, X, y))
        ['OTD', 'CLOC']
    """
    _check(estimators)
    batches = {}
    for name, estimator in estimators.items():
        model = clone(estimator).set_params(training__validation_fraction=0.0)
        batches[name] = learn_labels_and_reader(model, model.checked_method(), X, y).batches
    seconds: dict[str, list[float]] = {name: [] for name in estimators}
    for epoch in range(check_whole(rounds, "rounds")):
        for name, of_name in batches.items():
            of_name.set_epoch(epoch)
            started = time.perf_counter()
            for _ in of_name:
                pass
            seconds[name].append(time.perf_counter() - started)
    return {name: median(of_name) for name, of_name in seconds.items()}


def _check(estimators: Mapping[str, EmbeddingEstimator]) -> None:
    if len(estimators) < 2:
        raise OrdinateError("estimators", len(estimators), "two or more to compare")
    for name, estimator in estimators.items():
        if not isinstance(estimator, EmbeddingEstimator):
            raise OrdinateError("estimators", f"{type(estimator).__name__} as {name!r}", "one of Ordinate's")


def _epochs_by_stage(estimator: EmbeddingEstimator, X: Samples, y: ArrayLike) -> dict[int, list[float]]:
    """Train a clone and return the seconds of each epoch of its stages."""
    timer = Timer()
    model = clone(estimator).set_params(verbose=0, training__validation_fraction=0.0, training__checkpoint_dir=None)
    callbacks = [*(model.training.callbacks or ()), timer]
    model.set_params(training__callbacks=callbacks).fit(X, y)
    return timer.seconds


class Timer(Callback):
    """Measure the seconds of every training epoch, with its validation.

    Attributes:
        seconds: Seconds of each epoch by the number of its stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[int, list[float]] = {}
        self.started = 0.0

    def on_stage_start(self, loop: Loop) -> None:
        self.started = _now()

    def on_epoch_end(self, loop: Loop) -> None:
        ended = _now()
        self.seconds.setdefault(loop.method.stage_index, []).append(ended - self.started)
        self.started = ended


def _now() -> float:
    """Return the time once the device has done what was asked of it."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()
