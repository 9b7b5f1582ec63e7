"""Measurements of a report: scores and baselines, calibration, coverage, order, groups, label errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from ordinate.counts import counted
from ordinate.data.numbers import quoted_text
from ordinate.data.rows import Labels, random_part
from ordinate.data.splits import keep_together, split_folds
from ordinate.decisions import (
    interval_coverage,
    interval_coverage_report,
    least_samples,
    rank_coverage,
    rank_coverage_report,
)
from ordinate.decisions.conformal import Report
from ordinate.decisions.label_errors import is_doubted, residual_suspicion, suggested_ranks, suspicion
from ordinate.encoders.blend_head import BlendHead
from ordinate.errors import OrdinateError
from ordinate.metrics import accuracy, is_rank_ordered, mae, quadratic_weighted_kappa, r2, rank_cosine_matrix, spearman
from ordinate.metrics.embedding import unit_norm
from ordinate.model.held_out import HeldOut, ends
from ordinate.model.labels import TargetLabels
from ordinate.report.page.contents import Contents, plain_features
from ordinate.report.page.reference_models import reference_predictions

Metric = Callable[[Labels, Labels], float]

MOST_REFERENCES = 5000  # Baselines are fitted on at most this many training samples.
FEW = 20  # Few-shot limit (Yang et al., Delving into Deep Imbalanced Regression, ICML 2021).


@dataclass(frozen=True)
class Score:
    """A metric and its 95% interval: of accuracy the exact one, otherwise from 300 drawings of as many samples.

    Where samples have groups, such as patients, these are drawn, and accuracy has the interval of so many independent
    samples as have its variance over groups (Korn & Graubard, Survey Methodology 1998).
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Predictor:
    """What predicts, and its scores by the name of the metric, which is that of :mod:`ordinate.metrics`."""

    name: str
    predicted: Labels
    scores: dict[str, Score]


def score_all(contents: Contents, *, simple_models: bool = True) -> list[Predictor]:
    """Score the model and baselines: a constant, neighbours by plain features, and of tables what is usual for them."""
    predictions = {contents.method: contents.predicted, **_baselines(contents)}
    shares: Mapping[str, float] = {}
    if isinstance(contents.model.predictor, BlendHead):
        shares = contents.model.predictor.shares
        predictions |= _by_parts(contents, contents.model.predictor)
    if simple_models:
        predictions |= _by_simple_models(contents, [SAME[name] for name in shares if name in SAME])
    metrics: dict[str, Metric] = {"mae": mae, "r2": r2, "spearman": spearman}
    if contents.names:
        metrics = {"accuracy": accuracy, "mae": mae, "quadratic_weighted_kappa": quadratic_weighted_kappa}
    return [
        Predictor(name, predicted, {metric: _score(f, contents, predicted) for metric, f in metrics.items()})
        for name, predicted in predictions.items()
    ]


def gain(contents: Contents, other: Labels) -> Score:
    """Return by how much the model's mean error is below that of other predictions, and its interval, by pairs."""
    difference = np.abs(other - contents.true) - np.abs(contents.errors)
    drawn = np.array([difference[rows].mean() for rows in contents.drawings])
    return Score(float(difference.mean()), *_interval(drawn))


def _baselines(contents: Contents) -> dict[str, Labels]:
    usual, whose = contents.usual, ""
    if usual is None:
        labels = contents.training_labels
        if labels is None:
            labels, whose = contents.true, " here"
        usual = np.bincount(labels).argmax() if contents.names else labels.mean()
    name = f"always {quoted_text(contents.label_name(usual))}, the {'commonest' if contents.names else 'mean'}{whose}"
    return {name: np.full(len(contents), usual), **_by_neighbours(contents)}


OWN_PART = "its "  # Predictors that are a part of the model begin so.
PARTS = {
    "members": "its networks alone",
    "linear": "its linear model alone",
    "trees": "its random trees alone",
    "boosting": "its boosted trees alone",
    "fine_tuned": "its fine-tuned networks alone",
}
NETWORKS = {PARTS["members"], PARTS["fine_tuned"]}  # They are not simpler than the model: verdicts leave them out.
SAME = {"linear": "linear model", "trees": "random forest", "boosting": "gradient boosting"}  # Parts as simple models.


def _by_simple_models(contents: Contents, leave_out: Sequence[str] = ()) -> dict[str, Labels]:
    """Predict a table's samples by what is usual for tables, trained on the same samples; some may be left out.

    Not without the training samples, nor of tables so wide that it would take minutes.
    """
    x, y = contents.training_inputs, contents.training_labels
    if x is None or y is None or x.dim() != 2 or not x.is_floating_point():
        return {}
    rows = random_part(len(y), MOST_REFERENCES)
    if len(rows) * x.shape[1] > 200_000:
        return {}
    y = y[rows]
    if contents.names is not None and len(np.unique(y)) < 2:
        return {}
    count = None if contents.names is None else len(contents.names)
    seen, labels = x[rows].double(), torch.from_numpy(y)
    found = reference_predictions(seen, labels, contents.inputs.double(), count, leave_out)
    if count is None:
        return found
    return {name: contents.model.decide(probabilities) for name, probabilities in found.items()}


def _by_parts(contents: Contents, head: BlendHead) -> dict[str, Labels]:
    """Predict the samples by each of several parts of a blend."""
    if len(head.shares) == 1:
        return {}
    with torch.no_grad():
        parts = head.standardised(contents.model.embed(contents.inputs))
    found: dict[str, Labels] = {}
    for name in head.shares:
        predicted = parts[name]
        if isinstance(contents.model.labels, TargetLabels):
            targets = predicted * head.target_scale + head.target_mean
            found[PARTS[name]] = contents.model.labels.decode(targets.numpy())
        else:
            found[PARTS[name]] = contents.model.decide(predicted.numpy())
    return found


def _by_neighbours(contents: Contents, k: int = 5) -> dict[str, Labels]:
    """Predict from the samples nearest by plain features: of the training set, or of the other four fifths."""
    name = counted(k, "nearest neighbour")
    machine: KNeighborsClassifier | KNeighborsRegressor = KNeighborsRegressor(k)
    if contents.names:
        machine = KNeighborsClassifier(k)
    features = plain_features(contents.inputs)
    if contents.training_inputs is None or contents.training_labels is None:
        if len(contents) < 2 * k:
            return {}
        units, _ = keep_together(contents.digests.to_numpy(), None, least=2 * k)
        folds = split_folds(None, len(contents), units, 5, seed=0)
        name = f"{name} among these samples"
        return {name: np.asarray(cross_val_predict(machine, features, contents.true, cv=folds))}
    count = len(contents.training_labels)
    if count < k:
        return {}
    rows = np.random.default_rng(0).permutation(count)[:MOST_REFERENCES]
    machine.fit(plain_features(contents.training_inputs[rows]), contents.training_labels[rows])
    return {name: np.asarray(machine.predict(features))}


def _score(metric: Metric, contents: Contents, predicted: Labels) -> Score:
    true = contents.true
    if metric is accuracy:  # Drawings of predictions that are all right would give an interval without a width.
        return _share(true == predicted, contents.units)
    drawn = np.array([metric(true[rows], predicted[rows]) for rows in contents.drawings])
    return Score(metric(true, predicted), *_interval(drawn))


def _share(hits: NDArray[np.bool_], units: NDArray[np.int64]) -> Score:
    """Return the share of hits (n,) with the exact interval (Clopper & Pearson) of so many independent samples.

    Of samples in units these are p (1 - p) / v of the linearised variance v of the share over units, at most n.
    """
    n, share, count = len(hits), float(hits.mean()), int(units.max()) + 1
    samples = float(n)
    if 1 < count < n:
        beyond = np.bincount(units, weights=hits - share)
        variance = count / (count - 1) * float((beyond**2).sum()) / n**2
        samples = min(samples, share * (1 - share) / variance) if variance > 0 else float(count)
    right = share * samples
    low = beta.ppf(0.025, right, samples - right + 1) if right > 0 else 0.0
    high = beta.ppf(0.975, right + 1, samples - right) if right < samples else 1.0
    return Score(share, float(low), float(high))


def _interval(drawn: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True)
class Calibration:
    """Samples in tenths by the probability of what was predicted: its mean, and the share that is right; else NaN.

    The error is the mean distance of the two, weighted by the counts (expected calibration error, Naeini et al., AAAI
    2015). ``by_chance`` is the error that correct probabilities stay below in 95 of 100 draws of the labels.
    """

    counts: NDArray[np.int64]
    promised: NDArray[np.float64]
    measured: NDArray[np.float64]
    error: float
    by_chance: float


def measure_calibration(confidence: ArrayLike, right: ArrayLike) -> Calibration:
    """Compare the probabilities (n,) of predictions with whether these are right (n,).

    Example:
        >>> measure_calibration([0.95, 0.95, 0.65, 0.65], [True, True, True, False]).error
        0.1
    """
    promised, hits = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    count = 10
    bins = np.minimum((promised * count).astype(np.int64), count - 1)
    counts = np.bincount(bins, minlength=count)

    def error(hits: NDArray[np.float64]) -> float:
        surplus = np.bincount(bins, weights=promised - hits, minlength=count)
        return float(np.abs(surplus).sum() / len(promised))

    rng = np.random.default_rng(0)
    drawn = [error((rng.random(len(promised)) < promised).astype(np.float64)) for _ in range(300)]
    with np.errstate(invalid="ignore"):
        mean = np.bincount(bins, weights=promised, minlength=count) / counts
        share = np.bincount(bins, weights=hits, minlength=count) / counts
    return Calibration(counts, mean, share, round(error(hits), 12), float(np.quantile(drawn, 0.95)))


def measure_coverage(contents: Contents, held_out: HeldOut | None = None, least: int = 40) -> pd.DataFrame | None:
    """Return a row for every promised coverage, of the sets or intervals that the model predicts.

    Args:
        contents: What the report is about.
        held_out: Other samples, with which the sets are calibrated; None calibrates with halves of these.
        least: Fewest samples to measure on.

    Returns:
        The columns ``promised``, ``measured``, ``mean_size`` (in ranks, or in units of the target) and, for ranks, the
        measured coverage of every rank under its name; None for too few samples.
    """
    if len(contents) < (least if held_out else 2 * least):
        return None
    rows = []
    for promised in (0.8, 0.9, 0.95):
        if held_out is not None and len(held_out.labels) < least_samples(promised):
            continue
        if contents.names is None or contents.probabilities is None:
            report = _interval_coverage(contents, held_out, promised)
            size, by_rank = report["mean_width"], {}
        else:
            report = _rank_coverage(contents, contents.probabilities, held_out, promised)
            size, by_rank = report["mean_size"], dict(zip(contents.names, report["coverage_by_rank"], strict=True))
        rows.append({"promised": promised, "measured": report["coverage"], "mean_size": size, **by_rank})
    return pd.DataFrame(rows) if rows else None


def _interval_coverage(contents: Contents, held_out: HeldOut | None, promised: float) -> Report:
    if held_out is None:
        return interval_coverage_report(contents.true, contents.predicted, promised, repeats=20)
    bounds = ends(contents.model, contents.predicted, held_out.calibrate(promised))
    return interval_coverage(contents.true, np.stack(bounds, axis=-1))


def _rank_coverage(
    contents: Contents, probabilities: NDArray[np.float64], held_out: HeldOut | None, promised: float
) -> Report:
    if held_out is None:
        return rank_coverage_report(contents.true, probabilities, promised, repeats=20)
    sets = ends(contents.model, probabilities, held_out.calibrate(promised))
    return rank_coverage(contents.true, np.stack(sets, axis=-1), len(contents.names or ()))


@dataclass(frozen=True)
class EmbeddingOrder:
    """Where ranks lie in the embedding: mean cosines (C, C), and whether they fall with the distance of ranks.

    Angles (C,) are between the mean directions of the lowest rank that has samples and of every rank, 0 to 180 degrees;
    NaN without samples.
    """

    cosines: NDArray[np.float64]
    ordered: bool
    angles: NDArray[np.float64]


def find_order(embeddings: NDArray[np.float64], ranks: NDArray[np.int64], count: int) -> EmbeddingOrder:
    """Return where ``count`` ranks lie; embeddings (n, d) have norm 1.

    Example:
        >>> order = find_order(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([0, 1, 2]), 3)
        >>> order.ordered, order.angles
        (True, array([  0.,  90., 180.]))
    """
    cosines = rank_cosine_matrix(embeddings, ranks, count)
    sums = np.zeros((count, embeddings.shape[1]))
    np.add.at(sums, ranks, embeddings)
    present = np.bincount(ranks, minlength=count) > 0
    directions = unit_norm(sums)
    angles = np.degrees(np.arccos(np.clip(directions @ directions[present.argmax()], -1, 1)))
    return EmbeddingOrder(cosines, is_rank_ordered(cosines), np.where(present, angles, np.nan))


@dataclass(frozen=True)
class Groups:
    """Groups of samples with similar labels: one per rank, or ranges of a target."""

    names: list[str]
    of: NDArray[np.int64]
    trained_on: NDArray[np.int64] | None


def group_by_label(contents: Contents) -> Groups:
    """Return a group for every rank, or for ranges of equal width between round numbers."""
    known, trained_on = contents.training_labels, None
    names, of = contents.names, contents.true
    if names is None:
        edges = _edges(contents.true)
        names = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
        of = np.digitize(contents.true, edges[1:-1])
        if known is not None:
            known = np.digitize(known, edges[1:-1])
    if known is not None:
        trained_on = np.bincount(known, minlength=len(names))
    return Groups(names, of, trained_on)


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return round numbers from below the lowest value to above the highest."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.array([low, high])
    wanted = (high - low) / max(2, min(10, len(values) // 5))
    power = 10.0 ** np.floor(np.log10(wanted))
    step = float(next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= wanted * (1 - 1e-9)))
    first, last = np.floor(low / step), np.ceil(high / step)
    return np.arange(first, max(last, first + 1) + 0.5) * step


def nearest(embeddings: NDArray[np.float64], k: int = 10) -> NDArray[np.int64]:
    """Return (n, k), the other samples nearest to each, the nearest first; fewer columns where there are fewer."""
    count = min(k, len(embeddings) - 1)
    machine = NearestNeighbors(n_neighbors=count).fit(embeddings)
    return np.asarray(machine.kneighbors(return_distance=False), dtype=np.int64)


def find_suspects(contents: Contents, neighbours: NDArray[np.int64]) -> pd.DataFrame:
    """Return samples that look mislabelled, worst first: row, label, the label expected, and the suspicion.

    The suspicion of ranks is :func:`~ordinate.decisions.label_errors.suspicion`, from the mean of the
    model's probabilities and the shares of the ranks among the ``neighbours`` (n, k). That of targets is
    :func:`~ordinate.decisions.label_errors.residual_suspicion`.
    """
    if contents.names is None or contents.probabilities is None:
        suggested: Labels = contents.predicted
        scores = residual_suspicion(contents.true, suggested, min(50, len(contents)))
    else:
        votes = np.eye(len(contents.names))[contents.true[neighbours]].mean(axis=1)
        probabilities = (contents.probabilities + votes) / 2
        suggested = suggested_ranks(contents.true, probabilities)
        scores = suspicion(contents.true, probabilities)
    rows = np.flatnonzero(is_doubted(scores, of_ranks=contents.names is not None))
    rows = rows[np.argsort(-scores[rows], kind="stable")]
    labels, names = ([contents.label_name(label) for label in values[rows]] for values in (contents.true, suggested))
    return pd.DataFrame({"row": rows, "label": labels, "suggested": names, "suspicion": scores[rows].round(4)})


def check_suspects(suspects: pd.DataFrame, samples: int) -> pd.DataFrame:
    """Return a table of suspects made elsewhere, its columns in order."""
    columns = ["row", "label", "suggested", "suspicion"]
    absent = [name for name in columns if name not in suspects]
    if absent:
        raise OrdinateError("suspects", f"no {', '.join(absent)}", f"the columns {', '.join(columns)}")
    rows = suspects["row"].to_numpy()
    if rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < samples):
        raise OrdinateError("suspects", "rows that are none of the samples", f"numbers from 0 to {samples - 1}")
    return suspects[columns].reset_index(drop=True)


@dataclass(frozen=True)
class Measures:
    """All that is measured for the report of one model; None where label or number of samples do not allow it."""

    predictors: list[Predictor]
    calibration: Calibration | None
    coverage: pd.DataFrame | None
    order: EmbeddingOrder | None
    groups: Groups
    neighbours: NDArray[np.int64]
    suspects: pd.DataFrame


def measure_contents(
    contents: Contents, suspects: pd.DataFrame | None, held_out: HeldOut | None = None, *, simple_models: bool = True
) -> Measures:
    """Measure the predictions of a report; suspects are found where they are not given."""
    calibration, order = None, None
    if contents.names:
        calibration = measure_calibration(contents.confidence, contents.errors == 0)
    if contents.names and not contents.is_blend:
        order = find_order(contents.embeddings, contents.true, len(contents.names))
    neighbours = nearest(contents.embeddings)
    if suspects is None:
        suspects = find_suspects(contents, neighbours)
    return Measures(
        predictors=score_all(contents, simple_models=simple_models),
        calibration=calibration,
        coverage=measure_coverage(contents, held_out),
        order=order,
        groups=group_by_label(contents),
        neighbours=neighbours,
        suspects=suspects,
    )
