"""Protocols as a command: what is printed and written, that a stopped run goes on, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ordinate import SupCRRegressor
from ordinate.data.splits import split_rows
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate_papers.commands.options import PROTOCOLS
from ordinate_papers.commands.protocol import RUN, protocol
from ordinate_papers.protocols.reduced_data import reduced_data
from tests.estimators.examples import draw_table, ranks_of

QUICK = {"epochs": 2, "quiet": True}

pytestmark = pytest.mark.usefixtures("unpainted")


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, target = draw_table(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(grade=ranks_of(target, 4), target=target)
    frame.to_csv("table.csv", index=False)
    frame.iloc[::2].assign(target=10 * target[::2], grade=ranks_of(target, 3)[::2]).to_csv("second.csv", index=False)
    return "table.csv"


def run(name, data, target, drop, **options):
    protocol(name, data=data, target=target, drop=drop, **QUICK, **options)
    folder = Path(f"{data.split('.')[0]}-{name}")
    return pd.read_csv(folder / "figures.csv"), json.loads((folder / "figures.json").read_text())


def test_the_figures_are_those_of_the_protocol(file, capsys):
    records, record = run("reduced-data", file, "target", "grade", method=["supcr"], sizes=[20, 40], repeats=2, seed=3)
    assert records[["method", "seed", "size"]].to_numpy().tolist() == [
        ["supcr", 3, 20], ["supcr", 3, 40], ["supcr", 4, 20], ["supcr", 4, 40]
    ]  # fmt: skip
    frame = pd.read_csv(file)
    rows, test_rows = split_rows(frame["target"].to_numpy(), 0.2, 3, stratify=False)
    X, y = frame[["a", "b", "c"]], frame["target"].to_numpy()
    estimator = SupCRRegressor(epochs=(2, 1), random_state=3)
    wanted = reduced_data(estimator, X.iloc[rows], y[rows], X.iloc[test_rows], y[test_rows], sizes=[20, 40], seed=3)
    assert [row["mae"] for row in record["rows"][:2]] == pytest.approx(
        [row["mae"] for row in wanted["rows"]], rel=1e-12
    )
    assert records["mae"].tolist() == pytest.approx([row["mae"] for row in record["rows"]], rel=1e-12)
    shown = capsys.readouterr().out
    mean = records.groupby("size")["mae"].mean()
    assert f"{mean[20]:.4f} ± " in shown
    assert "table-reduced-data" in shown


CASES = {
    "epoch-time": ({"target": "target", "drop": "grade"}, ["epoch-time"], ["supcr", "supremix", "supcon"]),
    "label-bias": (
        {"target": "grade", "drop": "target", "margin": ["1,2=1.2"]},
        ["label-bias"], ["cloc, learned margins", "cloc, fixed margin", "cross_entropy"],
    ),
    "label-permutation": ({"target": "target", "drop": "grade"}, ["embeddings"], ["supcr", "supremix", "supcon"]),
    "reduced-data": ({"target": "grade", "drop": "target"}, ["error-by-size"], ["cloc", "otd", "cross_entropy"]),
    "retrieval": ({"target": "target", "drop": "grade"}, ["retrieval"], ["supcr", "supremix", "l1"]),
    "transfer": ({"target": "grade", "drop": "target", "to": "second.csv"}, ["transfer"],
                 ["cloc", "otd", "cross_entropy"]),
    "unseen-targets": (
        {"target": "target", "drop": "grade", "leave_out": ["-0.4:0.4"]},
        ["unseen-targets"], ["supcr", "supremix", "l1"],
    ),
}  # fmt: skip


@pytest.mark.typical("label-bias", "reduced-data", "retrieval")
@pytest.mark.parametrize(("options", "pictures", "methods"), CASES.values(), ids=CASES)
def test_every_protocol_writes_figures_and_pictures(file, options, pictures, methods, request, tmp_path):
    name = request.node.callspec.id
    records, record = run(name, file, **options)
    assert list(dict.fromkeys(records["method"])) == methods
    assert record["protocol"] == name
    assert len(record["rows"]) == len(records)
    folder = tmp_path / f"table-{name}"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["figures.csv", "figures.json", *(f"{picture}.png" for picture in pictures)]
    )
    assert not folder.with_name(f"{folder.name}.partial").exists()


@pytest.mark.thorough
def test_corruption_robustness_takes_images(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y = np.tile([0, 1, 2], 8)
    noise = np.random.default_rng(0).integers(0, 20, (24, 1, 12, 12))
    np.savez("pictures.npz", X=(40 + 80 * y[:, None, None, None] + noise).astype(np.uint8), y=y)
    options = {"method": ["cloc"], "encoder": "test_resnet", "augmentation": "none"}
    records, _ = run("corruption-robustness", "pictures.npz", "y", "", **options)
    assert records["corruption"].nunique() == 20
    assert records.groupby("severity").size().to_dict() == {0: 1, 1: 19, 2: 19, 3: 19, 4: 19, 5: 19}
    assert sorted(path.name for path in (tmp_path / "pictures-corruption-robustness").glob("*.png")) == [
        "corruptions.png", "error-by-severity.png"
    ]  # fmt: skip


def test_a_run_that_was_stopped_goes_on_and_trains_nothing_again(file, monkeypatch, capsys):
    options = {"method": ["supcr"], "sizes": [20, 30, 40]}
    fit, trained = EmbeddingEstimator.fit, []

    def stopping(self, X, y, *rest, **others):
        trained.append(len(X))
        if trained == [20, 30]:
            raise KeyboardInterrupt
        return fit(self, X, y, *rest, **others)

    monkeypatch.setattr(EmbeddingEstimator, "fit", stopping)
    with pytest.raises(KeyboardInterrupt):
        run("reduced-data", file, "target", "grade", **options)
    records, _ = run("reduced-data", file, "target", "grade", **options)
    assert trained == [20, 30, 30, 40]
    assert "continuing the run that was stopped" in capsys.readouterr().out
    assert records["size"].tolist() == [20, 30, 40]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ablation", {}, "protocol: got 'ablation', expected one of corruption-robustness"),
        ("reduced-data", {"repeats": 0}, "--repeats: got 0"),
        ("reduced-data", {"method": ["cloc"]}, "--method: cloc is not for a continuous target, expected one of supcr"),
        ("reduced-data", {"sizes": [400]}, "sizes: got 400, expected at most 48"),
        ("reduced-data", {"epochs": 0}, "--epochs: got 0"),
        ("transfer", {}, "--to: expected the data set"),
        ("transfer", {"to": "second.csv", "to_target": "grade"}, "--to: second.csv and table.csv differ in kind"),
        ("unseen-targets", {}, "--leave-out: expected the ranges"),
        ("unseen-targets", {"leave_out": ["20-25"]}, "--leave-out: got '20-25', expected LOWEST:HIGHEST"),
        ("label-bias", {}, "--margin: expected once for label-bias"),
        ("corruption-robustness", {}, "table.csv: holds no images"),
    ],
)
def test_what_cannot_be_run_is_an_error_before_any_training(file, name, options, message, monkeypatch, tmp_path):
    monkeypatch.setattr(EmbeddingEstimator, "fit", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(OrdinateError, match=f"^{message}"):
        protocol(name, data=file, target="target", **{"drop": "grade", **QUICK, **options})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["second.csv", "table.csv"]


def test_every_protocol_is_tried_here():
    assert set(PROTOCOLS) == set(RUN) == {*CASES, "corruption-robustness"}
