"""Execution of one run: read and split the data, train the model, and measure it by the protocol of the run."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import mean_squared_error

from ordinate.data.images.pixels import Decoded
from ordinate.data.rows import Samples, take
from ordinate.data.splits import split_rows
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.extensions import Task
from ordinate.metrics import continuous_report, knn_accuracy_curve, rank_report
from ordinate_papers.datasets import reading
from ordinate_papers.datasets.catalogue import dataset
from ordinate_papers.datasets.reading import Split
from ordinate_papers.protocols.classifiers import knn_error, svm_accuracy
from ordinate_papers.protocols.corruption_robustness import corruption_robustness
from ordinate_papers.protocols.embedding_map import embedding_map
from ordinate_papers.protocols.embedding_order import embedding_order
from ordinate_papers.protocols.epoch_time import epoch_time, pairing_time
from ordinate_papers.protocols.gaze import angular_error
from ordinate_papers.protocols.label_bias import label_bias
from ordinate_papers.protocols.label_permutation import label_permutation
from ordinate_papers.protocols.logits import logits
from ordinate_papers.protocols.parts import KeptParts
from ordinate_papers.protocols.reduced_data import nested_subsets, reduced_data
from ordinate_papers.protocols.shots import shot_report
from ordinate_papers.protocols.transfer import transfer
from ordinate_papers.protocols.unseen_targets import unseen_targets
from ordinate_papers.tables import models
from ordinate_papers.tables.budgets import Budget
from ordinate_papers.tables.metric_names import KS, SHARES
from ordinate_papers.tables.results import Metrics
from ordinate_papers.tables.run import Run, Settings


def execute(run: Run, state_folder: Path) -> Metrics:
    """Execute a run and return its metrics by name: numbers, and lists of numbers.

    Args:
        run: Run to execute. Its ``settings`` are the arguments ``model`` of
            :func:`~ordinate_papers.tables.models.build`, ``data`` of the reader of the data set, and ``protocol`` of
            the protocol. Its ``facts`` hold the ``budget``; without it the models have their own.
        state_folder: Folder for the state of the training, from which a run that was killed continues.

    Raises:
        OrdinateError: The protocol is unknown, or the model is not for the labels of the data set.
    """
    if run.protocol not in PROTOCOLS:
        raise OrdinateError("protocol", repr(run.protocol), f"one of {', '.join(map(repr, PROTOCOLS))}")
    trial = Trial.of(run.dataset, run, state_folder, run.settings.get("data", {}))
    return PROTOCOLS[run.protocol](trial, **run.settings.get("protocol", {}))


@dataclass(frozen=True)
class Trial:
    """The data and the split of a run, from which its models are built, trained and measured."""

    run: Run
    folder: Path
    X: Samples
    y: NDArray[np.number]
    split: Split
    task: Task

    @classmethod
    def of(cls, name: str, run: Run, folder: Path, options: Settings) -> "Trial":
        """Return a run on a data set, which is read with these options."""
        task = models.task_of(run.model, dataset(name).task)
        if task is None:
            raise OrdinateError("model", f"{run.model}, which is for ranks, and {name} has continuous targets")
        X, y, split = reading.load(name, run.seed, **options)
        if task == "continuous":
            y = y.astype(np.float64)
        return cls(run, folder, X, y, split, task)

    def build(self, name: str = "", spend: Settings | None = None, **others: object) -> BaseEstimator:
        """Return the run's model with its settings, or another one, unfitted; ``spend`` changes the budget."""
        settings, facts = self.run.settings, self.run.facts
        options: dict[str, Any] = {"checkpoint_dir": self.folder, "seed": self.run.seed}
        if name in ("", self.run.model):
            options |= settings.get("model", {})
        if "budget" in facts:
            options["budget"] = Budget(**{**facts["budget"], **(spend or {})})
        if self.task == "ranks":
            options["num_classes"] = self.ranks
        return models.build(name or self.run.model, self.task, **{**options, **others})

    @property
    def keep(self) -> KeptParts:
        """The finished parts of a protocol, which a run that was killed does not repeat."""
        return KeptParts(self.folder / "parts")

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return int(self.y.max()) + 1

    @property
    def train(self) -> tuple[Any, NDArray[np.number]]:
        return take(self.X, self.split.train), self.y[self.split.train]

    @property
    def test(self) -> tuple[Any, NDArray[np.number]]:
        return take(self.X, self.split.test), self.y[self.split.test]

    def measure(self, protocol: Callable[..., Metrics], **settings: object) -> Metrics:
        """Return the results of a protocol that trains the run's model and measures it on the test samples."""
        return protocol(self.build(), *self.train, *self.test, keep=self.keep, **settings)

    def fit(self) -> BaseEstimator:
        """Return the trained model; early stopping monitors the validation samples, if there are any."""
        model, validation = self.build(), self.split.validation
        training = getattr(model, "training", None)
        if len(validation) and training is not None and training.patience not in (None, "auto"):
            return model.fit(*self.train, validation=(take(self.X, validation), self.y[validation]))
        return model.fit(*self.train)


def plain(trial: Trial) -> Metrics:
    """Train on the training samples, and measure on the test samples."""
    started = time.perf_counter()
    model = trial.fit()
    seconds = time.perf_counter() - started
    X, y = trial.test
    measured = _of_ranks(trial, model) if trial.task == "ranks" else _of_targets(y, model.predict(X))
    return {**measured, **_of_margins(model), "seconds": seconds}


def _of_ranks(trial: Trial, model: BaseEstimator) -> Metrics:
    X, y = trial.test
    report: Metrics = dict(rank_report(y, model.predict(X), trial.ranks))
    if not isinstance(model, EmbeddingEstimator):  # Its neighbours are by another distance than the cosine.
        return {**report, "knn_error": 1 - report["accuracy"]}
    X_train, y_train = trial.train
    seen, unseen = model.transform(X_train), model.transform(X)
    ks = [k for k in KS if k <= len(seen)]
    accuracies = knn_accuracy_curve(unseen, y, ks, ref_emb=seen, ref_labels=y_train).tolist()
    return {
        **report,
        "knn_error": knn_error(seen, y_train, unseen, y),
        "knn_accuracy": accuracies + [None] * (len(KS) - len(ks)),
        "svm_accuracy": svm_accuracy(unseen, y, ref_emb=seen, ref_labels=y_train),
    }


def _of_targets(y: NDArray[np.number], predicted: NDArray[np.float64]) -> Metrics:
    report: Metrics = {
        **continuous_report(y, predicted),
        "mse": mean_squared_error(y, predicted),
    }
    if y.ndim == 2 and y.shape[1] == 2:
        report["angular_error"] = angular_error(y, predicted)
    return report


def _of_margins(model: BaseEstimator) -> Metrics:
    """Return CLOC's margins at the end, and those of every boundary after each epoch of phase one."""
    if not hasattr(model, "margins_"):
        return {}
    phase_one = [epoch for epoch in model.history_ if epoch["stage"] == 0]
    boundaries = [f"margin_{low}|{low + 1}" for low in range(len(model.margins_))]
    history = [[epoch[boundary] for epoch in phase_one] for boundary in boundaries]
    return {"margins": np.asarray(model.margins_).tolist(), "margin_history": history}


def validation(trial: Trial, fraction: float = 0.2) -> Metrics:
    """Measure on the validation samples; if there are none, hold out a fraction of the training samples for it."""
    rows, held_out = trial.split.train, trial.split.validation
    if not len(held_out):
        rest, some = split_rows(trial.y[rows], fraction, trial.run.seed, stratify=trial.task == "ranks")
        rows, held_out = rows[rest], rows[some]
    model = trial.build().fit(take(trial.X, rows), trial.y[rows])
    X, y = take(trial.X, held_out), trial.y[held_out]
    predicted = model.predict(X)
    if trial.task == "ranks":
        report: Metrics = dict(rank_report(y, predicted, trial.ranks))
    else:
        report = _of_targets(y, predicted)
    return {f"validation_{name}": value for name, value in report.items()}


def imbalance(trial: Trial, bin_size: float = 1) -> Metrics:
    """Errors by how many training samples share a target's bin (SupReMix, Table 7)."""
    model = trial.fit()
    X, y = trial.test
    return _flat(shot_report(trial.train[1], y, model.predict(X), bin_size))


def _corruption_robustness(trial: Trial) -> Metrics:
    model = trial.fit()
    X, y = trial.test
    images = Decoded(model.reader_.transform(X).numpy(), model.reader_.preprocessing)
    errors = corruption_robustness(model, images, y, seed=trial.run.seed, keep=trial.keep)
    return {"mae": errors["clean"], "corrupted_mae": errors["mean"]}


def _reduced_data(trial: Trial, samples: int | None = None, share: float = 1.0) -> Metrics:
    if samples is None:
        samples = round(share * len(trial.split.train))
    return _without("size", trial.measure(reduced_data, sizes=[samples], seed=trial.run.seed)["rows"][0])


def _unseen_targets(
    trial: Trial,
    ranges: Sequence[Sequence[float]] | None = None,
    drawn: int | None = None,
    quantiles: Sequence[Sequence[float]] = ((0.2, 0.3), (0.5, 0.6), (0.8, 0.9)),
) -> Metrics:
    """Leave out ranges of targets, by default between quantiles, which leave out as many as the paper's ages."""
    if ranges is None:
        ranges = np.quantile(trial.train[1], quantiles).tolist()
    found = trial.measure(unseen_targets, ranges=ranges, drawn=drawn, seed=trial.run.seed)
    distribution = {name: found[name] for name in ("centres", "counts", "width")}
    return {**_flat({row["targets"]: _without("targets", row) for row in found["rows"]}), **distribution}


def _embedding_order(trial: Trial) -> Metrics:
    """Measure the same as :func:`plain`, and the order of the embeddings: one training serves the tables of both."""
    model = trial.fit()
    return {**_of_ranks(trial, model), **embedding_order(model, *trial.train, *trial.test)}


def _label_bias(trial: Trial, boundary: Sequence[int], up: float = 0.6, down: float = 0.3) -> Metrics:
    found = trial.measure(label_bias, boundary=tuple(boundary), up=up, down=down, seed=trial.run.seed)
    return _without("relabelled", found["rows"][0])


def _label_permutation(trial: Trial) -> Metrics:
    found = trial.measure(label_permutation, seed=trial.run.seed)
    scores = {row["labels"]: _without("labels", row) for row in found["rows"]}
    return _flat({name: {**of_name, **found["pictures"][name]} for name, of_name in scores.items()})


def _transfer(
    trial: Trial, source: str, scheme: str, samples: int | None = None, source_samples: int | None = None
) -> Metrics:
    """Train on the data set ``source``, and use the encoder on the run's data set; of both, all samples or some."""
    first = Trial.of(source, trial.run, trial.folder, {})
    X_source, y_source = _some(*first.train, source_samples, trial.run.seed)
    X, y = _some(*trial.train, samples, trial.run.seed)
    model = first.build(checkpoint_dir=trial.folder / "source").fit(X_source, y_source)
    optimization = None
    if "optimizer" in trial.run.facts.get("budget", {}):
        optimization = model.method_.stages[-1].optimization
    found = transfer(
        model, X, y, *trial.test, schemes=[scheme], seed=trial.run.seed, checkpoint_dir=trial.folder / "transfer",
        keep=trial.keep, optimization=optimization,
    )  # fmt: skip
    return _without("scheme", found["rows"][0])


def _some(X: Samples, y: NDArray[np.number], count: int | None, seed: int) -> tuple[Samples, NDArray[np.number]]:
    """Return this number of samples, None for all of them."""
    if count is None:
        return X, y
    rows = nested_subsets(y, [count], seed)[0]
    return take(X, rows), y[rows]


def _epoch_time(
    trial: Trial, beside: Sequence[str], rounds: int = 3, also: Mapping[str, Settings] | None = None
) -> Metrics:
    """Measure the seconds of an epoch of the run's model and of others, in turns; ratios are to the first other one."""
    estimators = _side_by_side(trial, beside, also)
    rows = {row["method"]: row for row in epoch_time(estimators, *trial.train, rounds=rounds)["rows"]}
    first = rows[beside[0]]["seconds"]
    measured = {}
    for name, row in rows.items():
        ratio = row["seconds"] / first
        stages = row["stages"]
        measured[name] = {"seconds": row["seconds"], "ratio": ratio, "stages": stages, "all_stages": sum(stages)}
    return _flat(measured)


def _pairing_time(
    trial: Trial, beside: Sequence[str], rounds: int = 3, also: Mapping[str, Settings] | None = None
) -> Metrics:
    """Measure the seconds in which the batches of an epoch are drawn, for the run's model and for others."""
    seconds = pairing_time(_side_by_side(trial, beside, also), *trial.train, rounds=rounds)
    return {f"seconds_{name}": value for name, value in seconds.items()}


def _side_by_side(
    trial: Trial, beside: Sequence[str], also: Mapping[str, Settings] | None, epochs: int = 3
) -> dict[str, BaseEstimator]:
    """Return the run's model and others by name, for a few epochs of each phase; ``also`` are models with settings."""
    spend = {"epochs": 2 * epochs, "phase_one": epochs, "head_epochs": 1}
    chosen = {name: {"model": name} for name in (trial.run.model, *beside)}
    chosen |= {name: dict(settings) for name, settings in (also or {}).items()}
    return {
        name: trial.build(settings.pop("model"), spend, checkpoint_dir=None, **settings)
        for name, settings in chosen.items()
    }


def _without(name: str, row: Metrics) -> Metrics:
    return {key: value for key, value in row.items() if key != name}


def _flat(report: Mapping[str, Mapping[str, object]]) -> Metrics:
    """Return the metrics of groups under one name each, without those that have no value."""
    flat: Metrics = {}
    for group, values in report.items():
        flat |= {f"{name}_{group}": value for name, value in values.items() if value is not None}
    return flat


PROTOCOLS: Mapping[str, Callable[..., Metrics]] = {
    "plain": plain,
    "validation": validation,
    "imbalance": imbalance,
    "corruption_robustness": _corruption_robustness,
    "reduced_data": _reduced_data,
    "unseen_targets": _unseen_targets,
    "label_bias": _label_bias,
    "label_permutation": _label_permutation,
    "transfer": _transfer,
    "epoch_time": _epoch_time,
    "pairing_time": _pairing_time,
    "embedding_order": _embedding_order,
    "embedding_map": lambda trial: embedding_map(trial.fit(), *trial.test),
    "logits": lambda trial: logits(trial.build(), *trial.train, shares=SHARES),
}
