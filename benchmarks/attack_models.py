"""Damaged models: refused. Sealed again, as an attacker would: refused, or they predict and run nothing.

What stands beside a model (the rows of its split, its held-out samples) and databases of results are damaged too.
"""

import hashlib
import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attack_damage import BYTES, Random
from attack_trial import Outcome, outcome_of_command, refusal_of
from ordinate import CLOCClassifier, SupCRRegressor, TextOptions, load
from ordinate.commands.fit import SPLIT
from ordinate.commands.report import read_samples
from ordinate.estimators.held_out import ARRAYS, RECORD, HeldOut
from ordinate.estimators.model_folder import CONFIG
from ordinate.estimators.persistence import HISTORY, WEIGHTS
from ordinate_papers.tables.results import Result, ResultsFile
from ordinate_papers.tables.run import Run

sys.path.append(str(Path(__file__).parents[1]))
from tests.data.small_transformer import write_transformer  # which is no part of the package

SEALED = (CONFIG, WEIGHTS, HISTORY)
SIDE = {RECORD: "held", ARRAYS: "held", SPLIT: "split"}
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**63, 1e308, -0.5, "", "x" * 10_000, "../../etc/passwd", "http://localhost:9/x",
    "hf:gpt2", "timm_wrapper", "os.system", [], {}, [[[]]], [None], [-1, 2**40], {"kind": "tokens"},
    {"__class__": "os"}, "\u202e\0", "auto", "resnet18", "nan", "flash_attention_2", "kernels-community/x",
)  # fmt: skip
KEYS = ("attn_implementation", "auto_map", "backbone", "quantization_config", "model_type", "encoder", "__class__", "x")
FORBIDDEN = (
    "socket.connect",
    "socket.getaddrinfo",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "pickle.find_class",
)
ran: list[str] = []  # events that no model may cause


class Models:
    """Small models of each kind, of which every trial damages a copy."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder = Path(tempfile.mkdtemp(dir=folder))
        self.good, self.work, self.data = folder / "good", folder / "work", folder / "data.csv"
        self.samples: dict[str, Any] = {}
        random = np.random.default_rng(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._fit(random)
        sys.addaudithook(lambda event, _: ran.append(event) if event in FORBIDDEN else None)

    def _fit(self, random: Random) -> None:
        X = pd.DataFrame(random.normal(size=(40, 3)), columns=list("abc"))
        y = np.arange(40) % 3
        X.assign(grade=y).to_csv(self.data, index=False)
        texts = ["a dog", "rain again", "the car runs"] * 4
        self.samples = {"table": X, "series": random.normal(size=(12, 2, 20)), "words": texts, "tokens": texts}
        transformer = write_transformer(self.good.with_name("transformer"))
        self.good.mkdir()
        fitted: dict[str, Any] = {
            "table": CLOCClassifier(phase_epochs=(1, 1), random_state=0).fit(X, y),
            "series": SupCRRegressor(epochs=(1, 1), random_state=0).fit(self.samples["series"], y[:12].astype(float)),
            "words": _of_texts("bilstm", texts),
            "tokens": _of_texts(f"hf:{transformer}", texts),
        }
        for name, model in fitted.items():
            model.save(self.good / name)
        HeldOut.measure(fitted["table"], X[:20], y[:20]).write(self.good / "table")
        split = {"data": "0" * 64, "target": "grade", "train": list(range(30)), "test": list(range(30, 40))}
        (self.good / "table" / SPLIT).write_text(json.dumps(split))
        self.truth = {name: _predict(model, self.samples[name]) for name, model in fitted.items()}
        results = ResultsFile(self.good / "results.jsonl")
        for number in range(40):
            results.append(Run("airfoil", "supcr", seed=number), Result.done({"mae": number}, 1.0))

    def draw(self, random: Random) -> tuple[str, Callable[[], Outcome]]:
        """Return what is tried, and the trial."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.good, self.work)
        ran.clear()
        what = list(BYTES)[random.integers(len(BYTES))]
        kind = random.random()
        if kind < 0.1:
            BYTES[what](self.work / "results.jsonl", random)
            return f"results.jsonl: {what}", self._use_results
        if kind < 0.25:
            file = str(random.choice(list(SIDE)))
            if file == ARRAYS or random.random() < 0.5:
                BYTES[what](self.work / "table" / file, random)
            else:
                what = _mutate(self.work / "table" / file, random)
            return f"{file}: {what}", lambda: self._use_side(SIDE[file])
        name = str(random.choice(list(self.truth)))
        folder = self.work / name
        if kind < 0.65:
            file = str(random.choice(SEALED))
            BYTES[what](folder / file, random)
            return f"{name}/{file}: {what}", lambda: self._use(name, sealed_again=False)
        what = _mutate(folder / str(random.choice([CONFIG, CONFIG, HISTORY])), random)
        _seal(folder)
        return f"{name}, sealed again: {what}", lambda: self._use(name, sealed_again=True)

    def _use(self, name: str, *, sealed_again: bool) -> Outcome:
        try:
            predicted = _predict(load(self.work / name), self.samples[name])
        except Exception as error:  # which is what is looked for
            outcome = refusal_of(error, "" if sealed_again else str(self.work))  # of what was sealed, or its samples
        else:
            same = np.array_equal(predicted, self.truth[name])
            outcome = ("read", "") if sealed_again or same else ("misread", "other predictions")
        return ("ran code", str(ran)) if ran else outcome

    def _use_side(self, what: str) -> Outcome:
        folder = str(self.work / "table")
        if what == "held":
            command = ["predict", folder, str(self.data), "--coverage", "0.8", "--out", str(self.work / "out.csv")]
            return outcome_of_command(command, self.work)
        try:
            read_samples(load(folder), folder, str(self.data), "grade")
        except Exception as error:
            return refusal_of(error, folder, "model")
        return "read", ""

    def _use_results(self) -> Outcome:
        try:
            results = ResultsFile(self.work / "results.jsonl")
            runs = [Run("airfoil", "supcr", seed=number) for number in range(40)]
            results.read(runs)
            results.append(runs[0], Result.done({"mae": 0.0}, 1.0))
        except Exception as error:
            return refusal_of(error, str(self.work), "results")
        return "read", ""


def _of_texts(encoder: str, texts: list[str]) -> SupCRRegressor:
    model = SupCRRegressor(text=TextOptions(), encoder=encoder, epochs=(1, 1), random_state=0)
    return model.fit(texts, np.linspace(0, 1, len(texts)))


def _predict(model: Any, X: Any) -> Any:
    """Return predictions, which are finite whatever a sealed model says."""
    predicted = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    if len(predicted) != len(X):
        raise AssertionError(f"{len(predicted)} predictions of {len(X)} samples")
    return predicted


def _mutate(path: Path, random: Random) -> str:
    """Change one value of a JSON file, leave it out, or add one, and return which."""
    content = json.loads(path.read_text())
    places = list(_places(content))
    if not places:
        return "nothing to change"
    holder, key = places[random.integers(len(places))]
    value = VALUES[random.integers(len(VALUES))]
    how = random.random()
    if how < 0.15 and isinstance(holder, dict):
        del holder[key]
        what = f"without {key!r}"
    elif how < 0.25 and isinstance(holder, dict):
        key = str(random.choice(KEYS))
        holder[key] = value
        what = f"{key!r} is {str(value)[:40]!r}, new"
    else:
        holder[key] = value
        what = f"{key!r} is {str(value)[:40]!r}"
    path.write_text(json.dumps(content))
    return f"{path.name}: {what}"


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    keys = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in list(keys)[:50]:
        if key != "sha256":
            yield content, key
            yield from _places(content[key])


def _seal(folder: Path) -> None:
    """Write the sums that belong to what is there, as an attacker would."""
    config = json.loads((folder / CONFIG).read_text())
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (WEIGHTS, HISTORY)}
    config["sha256"] = sums
    whole = json.dumps(config, sort_keys=True).encode()
    config["sha256"] = {**sums, CONFIG: hashlib.sha256(whole).hexdigest()}
    (folder / CONFIG).write_text(json.dumps(config))
