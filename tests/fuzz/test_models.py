"""A damaged model is refused. One that was sealed again, as an attacker would, is refused or predicts; it runs no code.

The rows of the split and the held-out samples in its folder are damaged too.
"""

import hashlib
import json
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ordinate import CLOCClassifier, SupCRRegressor, TextOptions, load
from ordinate.commands.report import read_report_samples
from ordinate.commands.split_file import read_split
from ordinate.model.held_out import HeldOut
from tests.data.small_transformer import write_transformer
from tests.fuzz.damage import BYTES, pick
from tests.fuzz.trials import run_command, seeds, succeeds_or_is_refused

MODELS = ("table", "texts")
CONFIG, HISTORY, WEIGHTS = "config.json", "history.json", "weights.safetensors"
SPLIT, HELD_OUT, HELD_OUT_ARRAYS = "split.json", "held_out.json", "held_out.safetensors"
VALUES = [
    None, True, -1, 0, 1, 2**31, 2**63, 1e308, -0.5, "", "x" * 10_000, "../../etc/passwd", "http://localhost:9/x",
    "hf:gpt2", "timm_wrapper", "os.system", [], {}, [[[]]], [None], [-1, 2**40], {"kind": "tokens"},
    {"__class__": "os"}, "\u202e\0", "auto", "resnet18", "nan", "flash_attention_2", "kernels-community/x",
]  # fmt: skip
KEYS = ["attn_implementation", "auto_map", "backbone", "quantization_config", "model_type", "encoder", "__class__", "x"]
FORBIDDEN = (
    "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn",
    "pickle.find_class",
)  # fmt: skip
events = []
sys.addaudithook(lambda event, _: events.append(event) if event in FORBIDDEN else None)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A small model of each kind, samples for it and its predictions."""
    folder = tmp_path_factory.mktemp("good")
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(40, 3)), columns=list("abc"))
    grades = np.arange(40) % 3
    table.assign(grade=grades).to_csv(folder / "data.csv", index=False)
    texts = ["a dog", "rain again", "the car runs"] * 4
    samples = {"table": table, "texts": texts}
    transformer = write_transformer(folder / "transformer")
    of_texts = SupCRRegressor(data=TextOptions(), encoder=f"hf:{transformer}", epochs=(1, 1), random_state=0)
    models = {
        "table": CLOCClassifier(epochs=(1, 1), random_state=0).fit(table, grades),
        "texts": of_texts.fit(texts, np.linspace(0, 1, len(texts))),
    }
    for name, model in models.items():
        model.save(folder / name)
    HeldOut.measure(models["table"].fitted, table[:20], grades[:20]).write(folder / "table")
    split = {"data": "0" * 64, "target": "grade", "train": list(range(30)), "test": list(range(30, 40))}
    (folder / "table" / SPLIT).write_text(json.dumps(split))
    predicted = {name: predict(model, samples[name]) for name, model in models.items()}
    return SimpleNamespace(folder=folder, samples=samples, predicted=predicted, data=folder / "data.csv")


def predict(model, X):
    predicted = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    assert len(predicted) == len(X)
    return predicted


@pytest.fixture
def model(good, tmp_path):
    """Return a copy of a model by its name."""
    events.clear()
    return lambda name: shutil.copytree(good.folder / name, tmp_path / name)


@pytest.mark.parametrize("seed", seeds(quick=12, thorough=120))
@pytest.mark.parametrize("name", MODELS)
def test_a_damaged_model_is_refused(name, seed, model, good, tmp_path):
    folder = model(name)
    random = np.random.default_rng(seed)
    damage(folder / pick(random, [CONFIG, WEIGHTS, HISTORY]), random)
    with succeeds_or_is_refused(str(tmp_path)):
        # Bytes behind a JSON document may be white space, which changes nothing.
        np.testing.assert_array_equal(predict(load(folder), good.samples[name]), good.predicted[name])
    assert events == []


@pytest.mark.filterwarnings("ignore:rows outside what training had seen")  # a range may be what was changed
@pytest.mark.parametrize("seed", seeds(quick=20, thorough=200))
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_sealed_again_runs_no_code(name, seed, model, good):
    folder = model(name)
    random = np.random.default_rng(seed)
    change_value(folder / pick(random, [CONFIG, CONFIG, HISTORY]), random)
    seal(folder)
    with succeeds_or_is_refused(""):
        predict(load(folder), good.samples[name])
    assert events == []


@pytest.mark.parametrize("seed", seeds(quick=4, thorough=60))
@pytest.mark.parametrize("name", [HELD_OUT, HELD_OUT_ARRAYS])
def test_damaged_held_out_samples_are_refused(name, seed, model, good, tmp_path, capsys):
    folder = model("table")
    random = np.random.default_rng(seed)
    change = damage if name == HELD_OUT_ARRAYS or random.random() < 0.5 else change_value
    change(folder / name, random)
    out = tmp_path / "out.csv"
    run_command(capsys, ["predict", folder, good.data, "--coverage", "0.8", "--out", out], str(tmp_path))


@pytest.mark.parametrize("seed", seeds(quick=4, thorough=60))
def test_a_damaged_split_is_refused(seed, model, good):
    folder = model("table")
    random = np.random.default_rng(seed)
    pick(random, [damage, change_value])(folder / SPLIT, random)
    with succeeds_or_is_refused(str(folder), "model"):
        read_report_samples(load(folder).fitted, read_split(str(folder)), str(good.data), "grade")


def damage(path, random):
    path.write_bytes(pick(random, list(BYTES.values()))(path.read_bytes(), random))


def change_value(path, random):
    """Change one value of a JSON file, leave it out, or add one."""
    content = json.loads(path.read_text())
    holder, key = pick(random, list(places(content)))
    change = random.random()
    if isinstance(holder, dict) and change < 0.15:
        del holder[key]
    elif isinstance(holder, dict) and change < 0.25:
        holder[pick(random, KEYS)] = pick(random, VALUES)
    else:
        holder[key] = pick(random, VALUES)
    path.write_text(json.dumps(content))


def places(content):
    """Yield every list or dictionary with each of its keys, without the checksums."""
    keys = range(len(content)) if isinstance(content, list) else content
    if not isinstance(content, list | dict):
        return
    for key in list(keys)[:50]:
        if key != "sha256":
            yield content, key
            yield from places(content[key])


def seal(folder):
    """Write the checksums of the files as they are."""
    config = json.loads((folder / CONFIG).read_text())
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (WEIGHTS, HISTORY)}
    config["sha256"] = sums
    whole = json.dumps(config, sort_keys=True).encode()
    config["sha256"] = {**sums, CONFIG: hashlib.sha256(whole).hexdigest()}
    (folder / CONFIG).write_text(json.dumps(config))
