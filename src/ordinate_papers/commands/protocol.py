"""``ordinate protocol``: an experiment of the papers on any data, for several methods side by side."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ordinate.commands.division import divide_rows
from ordinate.commands.fit.plan import BLEND, Plan, make_plan, require_fitting
from ordinate.commands.fit.read import Source, read
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.labels import Label
from ordinate.commands.samples import Samples, fit_to
from ordinate.commands.workspace import Workspace
from ordinate.data.csv_files import without_formulas
from ordinate.data.registry import modality_of
from ordinate.data.rows import column_of, take
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.report.figures import save
from ordinate.report.text import table
from ordinate_papers.commands.options import ProtocolOptions
from ordinate_papers.figures import protocols as protocol_figures
from ordinate_papers.protocols.corruption_robustness import corruption_robustness
from ordinate_papers.protocols.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from ordinate_papers.protocols.epoch_time import epoch_time
from ordinate_papers.protocols.label_bias import label_bias
from ordinate_papers.protocols.label_permutation import label_permutation
from ordinate_papers.protocols.parts import Figures, KeptParts
from ordinate_papers.protocols.reduced_data import reduced_data
from ordinate_papers.protocols.retrieval import retrieval
from ordinate_papers.protocols.transfer import transfer
from ordinate_papers.protocols.trial import train
from ordinate_papers.protocols.unseen_targets import unseen_targets

LEARNED, FIXED = "cloc, learned margins", "cloc, fixed margin"  # of label-bias
FRACTIONS = (8, 4, 2, 1)  # parts of the training samples, where no sizes are given
SHOWN = (
    "mae", "accuracy", "quadratic_weighted_kappa", "critical_error", "rmse", "r2", "geometric_mean_error",
    "average_precision", "ndcg", "direction", "order", "genuine_order", "seconds", "ratio",
)  # fmt: skip


@dataclass(frozen=True)
class Divided:
    """A data set that was read, and its rows to train and to measure on."""

    label: Label
    samples: Samples
    rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]

    @classmethod
    def read(cls, options: FitOptions, source: Source) -> tuple[Self, Plan]:
        """Return the data set that the options name, and the plan of trainings on it."""
        data = read(source, None)
        plan = make_plan(options, source, data)
        division = divide_rows(plan.label, data.samples, options.test_fraction, options.seed)
        return cls(plan.label, data.samples, division.rows, division.test), plan

    @property
    def training(self) -> tuple[Any, NDArray[Any]]:
        """Samples and labels to train on."""
        return take(self.samples.X, self.rows), self.label.values[self.rows]

    @property
    def groups(self) -> NDArray[Any] | None:
        """Groups of the samples to train on."""
        return column_of(self.samples.groups, self.rows)

    @property
    def test(self) -> tuple[Any, NDArray[Any]]:
        """Samples and labels to measure on."""
        return take(self.samples.X, self.test_rows), self.label.values[self.test_rows]


@dataclass(frozen=True)
class Study:
    """What a protocol works with: options, data (of transfer a second set), and the folder that keeps its state."""

    options: FitOptions
    chosen: ProtocolOptions
    plan: Plan
    data: Divided
    second: Divided | None
    folder: Path

    def contenders(self, methods: Sequence[str]) -> Iterator["Contender"]:
        """Every method under every seed."""
        for method in methods:
            for seed in range(self.options.seed, self.options.seed + self.chosen.repeats):
                place = self.folder / f"{method}-{seed}"
                estimator = self.build(method, seed, place / "training")
                yield Contender(method, seed, estimator, self.data, KeptParts(place / "parts"))

    def build(self, method: str, seed: int, folder: Path) -> EmbeddingEstimator:
        """Return a method's estimator, not fitted."""
        plan = replace(self.plan, params={**self.plan.params, "random_state": seed})
        if method == LEARNED:
            plan = replace(plan, margins={})
        name = "cloc" if method in (LEARNED, FIXED) else method
        return plan.build(name, folder)


@dataclass(frozen=True)
class Contender:
    """A method under a seed: its estimator, not fitted, its data, and the figures of its parts."""

    method: str
    seed: int
    estimator: EmbeddingEstimator
    data: Divided
    keep: KeptParts

    def measure(self, protocol: Callable[..., Figures], **settings: Any) -> Figures:
        """Return the figures of a protocol that trains on the data and measures on its test samples."""
        data = self.data
        return protocol(self.estimator, *data.training, *data.test, groups=data.groups, keep=self.keep, **settings)

    def trained(self, name: str) -> Any:
        """Return the estimator, fitted to the data; its state is kept under a name."""
        return train(self.estimator, *self.data.training, name, self.data.groups)


@dataclass(frozen=True)
class Outcome:
    """What a protocol found: its records, what tells those of one method and seed apart, and pictures by name."""

    records: pd.DataFrame
    keys: list[str]
    pictures: dict[str, Figure]


def protocol(name: str, **given: Any) -> None:
    """Run a protocol, print its table, and write its figures as JSON and CSV and its pictures to a new folder.

    What was finished before a stop is kept beside the folder, and the same command continues from there. Options are
    the fields of :class:`~ordinate_papers.commands.options.ProtocolOptions` and of
    :class:`~ordinate.commands.fit_options.FitOptions`, of which ``margin`` names the boundary of label-bias.
    """
    chosen, options = ProtocolOptions.divide(name, given)
    data, plan = Divided.read(options, Source.of(options))
    second = _second(options, chosen, data) if name == "transfer" else None
    methods = _methods(name, chosen, plan)
    digests = [part.samples.digest for part in (data, second) if part is not None]
    settings = {"protocol": name, "data": digests, "options": [*options.determining, *asdict(chosen).values()]}
    with Workspace(options.path, settings) as workspace:
        study = Study(options, chosen, plan, data, second, workspace.checkpoints)
        if workspace.resumes:
            print("continuing the run that was stopped")
        sizes = f"{len(data.rows)} samples to train, {len(data.test_rows)} to measure on"
        print(f"{name}: {'; '.join(methods)}; {sizes}")
        outcome = RUN[name](study, methods)
        result = workspace.partial / "result"
        result.mkdir(exist_ok=True)
        _write(name, options.data, digests, outcome, result)
        workspace.publish(result)
    print(f"\n{_table(outcome)}\n\nfigures and pictures: {options.path}")


def _second(options: FitOptions, chosen: ProtocolOptions, first: Divided) -> Divided:
    """Return the data set that transfer goes to, with pictures of the size and channels of the first set's."""
    to = replace(options, data=str(chosen.to), target=chosen.to_target or options.target)
    X = first.samples.X
    if modality_of(X).plans_training:
        settings = [f"data.size={X.preprocessing.size}", f"data.channels={X.preprocessing.channels}"]
        to = replace(to, image_size=None, set=[*to.set, *settings])
    second, _ = Divided.read(to, replace(Source.of(to), all_columns=True))
    if second.label.is_ranks != first.label.is_ranks:
        raise OrdinateError(
            "--to",
            problem=f"{chosen.to} and {options.data} differ in kind",
            expected="ranks in both or targets in both",
        )
    return second


def _write(name: str, data: str, digests: list[str], outcome: Outcome, folder: Path) -> None:
    without_formulas(outcome.records).to_csv(folder / "figures.csv", index=False)
    rows = json.loads(outcome.records.to_json(orient="records", double_precision=15))
    record = {"protocol": name, "data": data, "sha256": digests, "rows": rows}
    (folder / "figures.json").write_text(json.dumps(record, indent=1) + "\n")
    for title, figure in outcome.pictures.items():
        save(figure, folder / f"{title}.png")


def _methods(name: str, options: ProtocolOptions, plan: Plan) -> list[str]:
    """Return the names of what is compared, each of which fits the label."""
    plain = "cross_entropy" if plan.label.is_ranks else "l1"
    baseline = "supcon" if name in ("epoch-time", "label-permutation") else plain
    chosen = options.method or [*(name for name in plan.candidates if name != BLEND), baseline]
    for method in chosen:
        require_fitting(method, plan.label)
    if name != "label-bias":
        if plan.margins and "cloc" not in chosen:
            raise OrdinateError("--margin", problem=f"is for CLOC, got --method {' '.join(chosen)}")
        return chosen
    if len(plan.margins) != 1:
        raise OrdinateError("--margin", expected="once for label-bias, for the boundary that is biased, as in 1,2=1.2")
    return [LEARNED, FIXED, *(method for method in chosen if method != "cloc")]


# the protocols


def _corruption_robustness(study: Study, methods: Sequence[str]) -> Outcome:
    images, labels = study.data.test
    pixels = modality_of(images).pictures(images)
    if pixels is None:
        raise OrdinateError(study.options.data, problem="holds no images", expected="some for corruption-robustness")

    records = _run(
        study,
        methods,
        lambda each: corruption_robustness(each.trained("clean"), images, labels, seed=each.seed, keep=each.keep),
    )
    means = records.groupby(["method", "seed", "severity"], sort=False)["mae"].mean().reset_index()
    severities = [0, *SEVERITIES]
    first = pixels[:1]
    shown = {name: [first[0], *(corrupt(first, name, severity)[0] for severity in SEVERITIES)] for name in CORRUPTIONS}
    pictures = {
        "error-by-severity": protocol_figures.error_by_severity(severities, _spreads(means, "severity", "mae")),
        "corruptions": protocol_figures.corrupted_images(shown),
    }
    return Outcome(records, ["severity"], pictures)


def _reduced_data(study: Study, methods: Sequence[str]) -> Outcome:
    sizes = sorted(set(study.chosen.sizes)) or [len(study.data.rows) // part for part in FRACTIONS]
    records = _run(study, methods, lambda each: each.measure(reduced_data, sizes=sizes, seed=each.seed))
    figure = protocol_figures.error_by_training_size(sizes, _spreads(records, "size", "mae"))
    return Outcome(records, ["size"], {"error-by-size": figure})


def _retrieval(study: Study, methods: Sequence[str]) -> Outcome:
    records = _run(study, methods, lambda each: each.measure(retrieval))
    measures = ["average_precision", "ndcg", "order", "direction"]
    shares = records.melt(["method", "seed"], measures, "measure", "value")
    shares["measure"] = shares["measure"].str.replace("_", " ")
    return Outcome(records, [], {"retrieval": _bars(shares, "measure", "value", "Retrieval and order", "")})


def _transfer(study: Study, methods: Sequence[str]) -> Outcome:
    second, to = study.second, str(study.chosen.to)
    assert second is not None  # noqa: S101  # as protocol() reads it for this one
    (X, y), (X_test, y_test) = second.training, second.test
    epochs = 100 if study.options.epochs is None else study.options.epochs

    def run(contender: Contender) -> Figures:
        model = contender.trained("first")
        return transfer(
            model, fit_to(model, X, to), y, fit_to(model, X_test, to), y_test, class_order=second.label.classes,
            epochs=epochs, seed=contender.seed, keep=contender.keep,
            checkpoint_dir=contender.estimator.training.checkpoint_dir,
        )  # fmt: skip

    records = _run(study, methods, run)
    figure = _bars(records, "scheme", "mae", "Transfer", "mean absolute error")
    return Outcome(records, ["scheme"], {"transfer": figure})


def _unseen_targets(study: Study, methods: Sequence[str]) -> Outcome:
    ranges = [_range(text) for text in study.chosen.leave_out]
    if not ranges:
        raise OrdinateError("--leave-out", expected="the ranges to leave out of training, as in 20:25")
    records = _run(study, methods, lambda each: each.measure(unseen_targets, ranges=ranges))
    figure = _bars(records, "targets", "mae", "Unseen targets", "mean absolute error")
    return Outcome(records, ["targets"], {"unseen-targets": figure})


def _label_bias(study: Study, methods: Sequence[str]) -> Outcome:
    [(low, high)] = study.plan.margins
    classes = study.plan.label.classes or []
    bias = {"boundary": (classes[low], classes[high]), "up": study.chosen.up, "down": study.chosen.down}
    records = _run(study, methods, lambda each: each.measure(label_bias, seed=each.seed, **bias))
    shares = records.melt(["method", "seed"], ["accuracy", "critical_error"], "share", "value")
    shares["share"] = shares["share"].str.replace("_", " ")
    figure = _bars(shares, "share", "value", "Biased labels", "share of test samples")
    return Outcome(records, [], {"label-bias": figure})


def _label_permutation(study: Study, methods: Sequence[str]) -> Outcome:
    pictures: dict[str, Any] = {}

    def run(contender: Contender) -> Figures:
        figures = contender.measure(label_permutation, seed=contender.seed)
        pictures.setdefault(contender.method, figures["pictures"])
        return figures

    records = _run(study, methods, run)
    return Outcome(records, ["labels"], {"embeddings": protocol_figures.embeddings_by_labels(pictures)})


def _epoch_time(study: Study, methods: Sequence[str]) -> Outcome:
    estimators = {contender.method: contender.estimator for contender in study.contenders(methods)}
    figures = epoch_time(estimators, *study.data.training, rounds=study.chosen.rounds)
    records = pd.DataFrame(figures["rows"])
    seconds = {row["method"]: ([row["seconds"]], [0.0]) for row in figures["rows"]}
    figure = protocol_figures.grouped_bars([study.options.data], seconds, "Time of an epoch", "seconds, median")
    return Outcome(records, [], {"epoch-time": figure})


RUN: dict[str, Callable[[Study, Sequence[str]], Outcome]] = {
    function.__name__.strip("_").replace("_", "-"): function
    for function in (
        _corruption_robustness, _epoch_time, _label_bias, _label_permutation, _reduced_data, _retrieval,
        _transfer, _unseen_targets,
    )
}  # fmt: skip


# what they share


def _run(study: Study, methods: Sequence[str], run: Callable[[Contender], Figures]) -> pd.DataFrame:
    """Return the rows of every method and seed."""
    rows = []
    for contender in study.contenders(methods):
        print(f"{contender.method}, seed {contender.seed}")
        rows += [{"method": contender.method, "seed": contender.seed, **row} for row in run(contender)["rows"]]
    return pd.DataFrame(rows)


def _spreads(records: pd.DataFrame, key: str, value: str) -> dict[str, protocol_figures.Spread]:
    """Return mean and deviation over seeds along a key, of every method."""
    spreads: dict[str, protocol_figures.Spread] = {}
    for method, part in records.groupby("method", sort=False):
        groups = part.groupby(key, sort=False)[value]
        spreads[str(method)] = (groups.mean().to_numpy(), groups.std(ddof=0).to_numpy())
    return spreads


def _bars(records: pd.DataFrame, key: str, value: str, title: str, ylabel: str) -> Figure:
    groups = [str(name).replace("_", " ") for name in records[key].unique()]
    return protocol_figures.grouped_bars(groups, _spreads(records, key, value), title, ylabel)


def _range(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise OrdinateError("--leave-out", repr(text), "LOWEST:HIGHEST, as in 20:25") from None


def _table(outcome: Outcome) -> str:
    """Means over seeds, with deviations where there are several."""
    keys = ["method", *outcome.keys]
    shown = [name for name in SHOWN if name in outcome.records]
    several = "seed" in outcome.records and outcome.records["seed"].nunique() > 1
    rows = []
    for key, part in outcome.records.groupby(keys, sort=False):
        by_seed = part.groupby("seed")[shown].mean() if several else part[shown]
        cells = [
            f"{by_seed[name].mean():.4f}" + (f" ± {by_seed[name].std(ddof=0):.4f}" if several else "") for name in shown
        ]
        rows.append([*map(str, key), *cells])
    return table([name.replace("_", " ") for name in (*keys, *shown)], rows)
