"""A saved model is the fitted one, and nothing but: whole, checked, and never a source of code."""

import hashlib
import json
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

import ordinate
from ordinate import Head
from ordinate.errors import OrdinateError
from tests.estimators.examples import (
    Trap,
    cloc,
    draw_frame,
    draw_series,
    draw_table,
    for_every_estimator,
    labels_for,
    otd,
    ranks_of,
    supcr,
)

WEIGHTS = "weights.safetensors"
READ = {"config.json", "history.json", WEIGHTS}
FILES = {*READ, "MODEL_CARD.md"}


def test_a_saved_model_is_replaced_if_asked_and_nothing_else_is(tmp_path):
    X, target = draw_table()
    y = ranks_of(target)
    first, second = (otd(epochs=1, random_state=seed).fit(X, y) for seed in (0, 1))
    first.save(tmp_path / "model")
    with pytest.raises(OrdinateError, match="already holds something"):
        second.save(tmp_path / "model")
    second.save(tmp_path / "model", overwrite=True)
    assert identical(ordinate.load(tmp_path / "model").transform(X), second.transform(X))
    assert {path.name for path in (tmp_path / "model").iterdir()} == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (tmp_path / "own").mkdir()
    (tmp_path / "own/notes.txt").touch()
    with pytest.raises(OrdinateError, match="already holds something"):
        first.save(tmp_path / "own", overwrite=True)
    assert (tmp_path / "own/notes.txt").exists()


def identical(actual, expected):
    """The same values, of the same dtype unless they are text."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    return np.array_equal(actual, expected) and (actual.dtype == expected.dtype or actual.dtype.kind in "OU")


def assert_same_model(loaded, model, X):
    assert type(loaded) is type(model)
    assert identical(loaded.predict(X), model.predict(X))
    assert identical(loaded.transform(X), model.transform(X))
    assert list(loaded.get_feature_names_out()) == list(model.get_feature_names_out())
    assert loaded.history_ == model.history_
    for attribute in ("n_iter_", "n_features_in_", "head_name_", "head_scores_", "window_"):
        assert getattr(loaded, attribute, None) == getattr(model, attribute, None)
    for attribute in ("classes_", "margins_", "feature_names_in_"):
        assert hasattr(loaded, attribute) == hasattr(model, attribute)
        assert not hasattr(model, attribute) or identical(getattr(loaded, attribute), getattr(model, attribute))
    if hasattr(model, "predict_proba"):
        assert identical(loaded.predict_proba(X), model.predict_proba(X))


def save_and_load(model, folder):
    model.save(folder)
    return ordinate.load(folder)


@for_every_estimator
def test_a_loaded_model_of_an_array_is_the_saved_one(make, tmp_path):
    X, target = draw_table()
    model = make().fit(X, labels_for(make, target))
    assert_same_model(save_and_load(model, tmp_path / "model"), model, draw_table(seed=1)[0])


@for_every_estimator
def test_a_loaded_model_of_a_frame_is_the_saved_one(make, tmp_path):
    X, target = draw_frame()
    model = make().fit(X, labels_for(make, target))
    assert_same_model(save_and_load(model, tmp_path / "model"), model, draw_frame(seed=1)[0])


def test_a_loaded_model_of_series_is_the_saved_one(tmp_path):
    X, target = draw_series()
    model = supcr().fit(X, target)
    assert_same_model(save_and_load(model, tmp_path / "model"), model, draw_series(seed=1)[0])


@pytest.mark.parametrize(
    ("scheme", "head"),
    [
        ("linear_probe", "linear"), ("linear_probe", "ridge"), ("linear_probe", "neighbours"), ("fine_tune", "linear"),
        ("regularise", "linear"), ("regularise", "neighbours"),
    ],
)  # fmt: skip
def test_a_loaded_model_with_any_head_is_the_saved_one(scheme, head, tmp_path):
    X, target = draw_table()
    model = supcr(scheme=scheme, head=head, epochs=(2, 2)).fit(X, target)
    assert_same_model(save_and_load(model, tmp_path / "model"), model, draw_table(seed=1)[0])


CLASSES = {
    "gaps": np.array([-1, 4, 9]),
    "whole floats": np.array([1.0, 2.0, 3.0]),
    "fractions": np.array([1.0, 1.5, 2.0]),
    "text": np.array(["mild", "moderate", "severe"]),
    "booleans": np.array([False, True, True]),
    "text objects": np.array(["mild", "moderate", "severe"], dtype=object),
}


@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES)
def test_a_loaded_model_predicts_classes_of_the_kind_it_was_fitted_on(classes, tmp_path):
    X, target = draw_table()
    order = None if classes.dtype == bool else classes.tolist()
    model = cloc(class_order=order).fit(X, classes[ranks_of(target)])
    assert_same_model(save_and_load(model, tmp_path / "model"), model, X)


def test_a_loaded_model_predicts_the_classes_of_an_ordered_categorical(tmp_path):
    X, target = draw_table()
    grades = pd.Series(pd.Categorical.from_codes(ranks_of(target), ["low", "mid", "high"], ordered=True))
    model = otd().fit(X, grades)
    assert_same_model(save_and_load(model, tmp_path / "model"), model, X)


@pytest.mark.parametrize(("rank", "margin"), [(int, np.float32), (np.int64, float)], ids=["int", "int64"])
def test_critical_margins_survive(rank, margin, tmp_path):
    X, target = draw_table()
    critical = {(rank(0), rank(1)): margin(0.25), (rank(2), rank(3)): margin(1.25)}
    model = cloc(critical_margins=critical).fit(X, ranks_of(target, 4))
    loaded = save_and_load(model, tmp_path / "model")
    assert loaded.critical_margins == {(0, 1): 0.25, (2, 3): 1.25}
    assert identical(loaded.margins_, model.margins_)
    assert loaded.margins_[[0, 2]].tolist() == [0.25, 1.25]
    again = loaded.fit(X, ranks_of(target, 4))
    assert identical(again.margins_, model.margins_)


@for_every_estimator
def test_settings_come_back_as_they_were(make, tmp_path):
    X, target = draw_table()
    options, labels = {"learning_rate": 0.01, "patience": 5}, labels_for(make, target)
    if make is cloc:
        options |= {"critical_margins": {("b", "a"): 0.5}, "decision": "median", "class_order": ["c", "b", "a"]}
        labels = np.array(list("cba"))[ranks_of(target)]
    model = make(**options).fit(X, labels)
    assert save_and_load(model, tmp_path / "model").get_params() == model.get_params()


def test_the_head_and_its_bins_come_back_as_they_were(tmp_path):
    X, target = draw_table()
    head = Head("linear", loss="dex", bin_size=(0.5, 2.0))
    model = supcr(head=head).fit(X, np.stack([target, 3 * target**2], axis=1))
    loaded = save_and_load(model, tmp_path / "model")
    assert loaded.head == head
    assert_same_model(loaded, model, X)


SETTINGS = {
    "embedding_dim": np.int64(8),
    "batch_size": np.int32(16),
    "learning_rate": np.float64(0.01),
    "random_state": np.int64(3),
    "epochs": np.array([2, 2]),
    "margin_floor": np.float64(0.1),
    "shared_margins": np.bool_(True),
    "class_order": np.array([0, 1, 2]),
    "checkpoint_dir": Path("checkpoints"),
}


def test_settings_of_numpy_are_saved_as_the_numbers_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, target = draw_table()
    model = cloc(**SETTINGS).fit(X, ranks_of(target))
    loaded = save_and_load(model, tmp_path / "model")
    for name, value in SETTINGS.items():
        found = getattr(loaded, name, getattr(loaded.training, name, None))
        assert str(found) == str(value) or list(found) == list(value), name
    assert_same_model(loaded, model, X)


def test_a_loaded_model_is_saved_again_byte_for_byte(tmp_path):
    X, target = draw_frame()
    first, second = tmp_path / "first", tmp_path / "second"
    save_and_load(supcr().fit(X, target), first).save(second)
    assert {path.name for path in second.iterdir()} == FILES
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in FILES)


def test_the_folder_holds_json_and_tensors_only(tmp_path):
    X, target = draw_table()
    cloc().fit(X, ranks_of(target)).save(tmp_path / "new" / "model")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["model"]
    assert {path.name for path in (tmp_path / "new" / "model").iterdir()} == FILES
    for name in ("config.json", "history.json"):
        json.loads((tmp_path / "new" / "model" / name).read_text(), parse_constant=pytest.fail)


def test_an_empty_folder_is_filled_and_a_used_one_refused(tmp_path):
    X, target = draw_table()
    model = otd().fit(X, ranks_of(target))
    (tmp_path / "model").mkdir()
    model.save(tmp_path / "model")
    written = {path: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    with pytest.raises(OrdinateError, match=r"folder: .*already holds something, expected a new or empty folder"):
        model.save(tmp_path / "model")
    (tmp_path / "file").write_text("kept")
    with pytest.raises(OrdinateError, match=r"folder: .*already holds something"):
        model.save(tmp_path / "file")
    assert {path: path.read_bytes() for path in (tmp_path / "model").iterdir()} == written
    assert (tmp_path / "file").read_text() == "kept"
    assert {path.name for path in tmp_path.iterdir()} == {"model", "file"}


def test_what_cannot_be_written_down_is_refused_and_leaves_nothing(tmp_path):
    X, target = draw_table()
    model = supcr(label_distance=lambda a, b: (a[:, None] - b[None]).abs().sum(-1)).fit(X, target)
    with pytest.raises(OrdinateError, match=r"save: .* is code"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    X, target = draw_frame()
    cloc(critical_margins={(0, 1): 0.5}).fit(X, ranks_of(target)).save(folder)
    return folder


@pytest.fixture
def model_folder(saved, tmp_path):
    return Path(shutil.copytree(saved, tmp_path / "model"))


@pytest.mark.parametrize("name", sorted(READ))
@pytest.mark.parametrize("damage", ["removed", "emptied", "cut", "random bytes", "a pickle", "a folder"])
def test_a_damaged_file_is_refused_and_never_run(name, damage, model_folder, tmp_path):
    path = model_folder / name
    content = path.read_bytes()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage != "removed":
        random = np.random.default_rng(0).bytes(len(content))
        pickled = pickle.dumps(Trap(tmp_path / "sprung"))
        damaged = {"emptied": b"", "cut": content[: len(content) // 2], "random bytes": random, "a pickle": pickled}
        path.write_bytes(damaged[damage])
    with pytest.raises(OrdinateError, match="model: "):
        ordinate.load(model_folder)
    assert not (tmp_path / "sprung").exists()


def test_every_flipped_bit_of_the_weights_is_noticed(model_folder):
    path = model_folder / "weights.safetensors"
    content = bytearray(path.read_bytes())
    for position in np.random.default_rng(0).integers(0, len(content), 20):
        content[position] ^= 1
        path.write_bytes(content)
        with pytest.raises(OrdinateError, match="damaged"):
            ordinate.load(model_folder)
        content[position] ^= 1


@pytest.mark.parametrize("name", ["config.json", "history.json"])
def test_a_changed_digit_is_noticed(name, model_folder):
    path = model_folder / name
    text = path.read_text()
    digits = [i for i, character in enumerate(text) if character in "12345678"]
    for i in digits[:: max(1, len(digits) // 40)]:
        changed = text[:i] + str(int(text[i]) + 1) + text[i + 1 :]
        if json.loads(changed) == json.loads(text):  # Float64 does not hold this digit.
            continue
        path.write_text(changed)
        with pytest.raises(OrdinateError, match="model: "):
            ordinate.load(model_folder)


def with_training(**options):
    """Return a change of a configuration that sets options of training."""

    def change(config):
        params = config["params"]
        return config | {"params": params | {"training": params["training"] | options}}

    return change


DAMAGES = {
    "not an object": lambda config: [config],
    "a list of nothing": lambda config: list(config)[:0],
    "no format": lambda config: {k: v for k, v in config.items() if k != "format"},
    "a later format": lambda config: config | {"format": 3},
    "another class": lambda config: config | {"estimator": "os.system"},
    "another estimator": lambda config: config | {"estimator": "SupReMixRegressor"},
    "an unknown setting": lambda config: config | {"params": config["params"] | {"depth": 3}},
    "an unknown setting of training": with_training(depth=3),
    "a setting of another kind": lambda config: config | {"params": config["params"] | {"embedding_dim": "x"}},
    "another width": lambda config: config | {"params": config["params"] | {"embedding_dim": 9}},
    "far too wide": lambda config: config | {"params": config["params"] | {"embedding_dim": 10**15}},
    "boundaries of another kind": lambda config: config | {"params": config["params"] | {"critical_margins": [[0, 1]]}},
    "another reader": lambda config: config | {"reader": config["reader"] | {"kind": "image"}},
    "no columns": lambda config: config | {"reader": config["reader"] | {"columns": []}},
    "classes of another number": lambda config: config | {"labels": {"classes": [0, 1]}},
    "no classes": lambda config: config | {"labels": {}},
    "targets instead of classes": lambda config: config | {"labels": {"offset": [0.0], "is_vector": True}},
    "a method as a fitted value": lambda config: config | {"fitted": config["fitted"] | {"predict": 1}},
    "no checksum": lambda config: config | {"sha256": {}},
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_config_that_says_something_else_is_refused(damage, model_folder):
    path = model_folder / "config.json"
    path.write_text(json.dumps(damage(json.loads(path.read_text()))))
    with pytest.raises(OrdinateError, match="model: "):
        ordinate.load(model_folder)


def sealed(config, folder):
    """Write a configuration with the checksums that fit what is in the folder."""
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (WEIGHTS, "history.json")}
    config = {**config, "sha256": sums}
    sums = {**sums, "config.json": hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()}
    (folder / "config.json").write_text(json.dumps({**config, "sha256": sums}))


RESEALED = DAMAGES | {
    "classes twice": lambda config: config | {"labels": {"classes": [0, 1, 1]}},
    "one class": lambda config: config | {"labels": {"classes": [0]}},
    "classes in a table": lambda config: config | {"labels": {"classes": [[0], [1], [2]]}},
    "a mean that is none": lambda config: json.loads(
        re.sub(r'"mean": [^,]+', '"mean": NaN', json.dumps(config), count=1)
    ),
    "quantiles of text": lambda config: json.loads(
        re.sub(r'"quantiles": \[[^,]+', '"quantiles": ["x"', json.dumps(config), count=1)
    ),
    "names that are none": lambda config: config | {"feature_names_in": "1"},
    "names that are no text": lambda config: config | {"feature_names_in": [1, 2, 3, 4]},
    "features that are no number": lambda config: config | {"n_features_in": "x"},
    "a setting that no training has": with_training(chunk_size=-1),
    "an infinite scale": lambda config: json.loads(
        re.sub(r'"scale": [^,]+', '"scale": Infinity', json.dumps(config), count=1)
    ),
}
del RESEALED["not an object"], RESEALED["a list of nothing"], RESEALED["no checksum"]  # which have no place for a seal


@pytest.mark.parametrize("damage", RESEALED.values(), ids=RESEALED)
def test_one_that_is_sealed_again_is_refused_too(damage, model_folder):
    sealed(damage(json.loads((model_folder / "config.json").read_text())), model_folder)
    with pytest.raises(OrdinateError, match="model: "):
        ordinate.load(model_folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(value, model_folder):
    tensors = load_file(model_folder / WEIGHTS)
    for name in [name for name, values in tensors.items() if values.is_floating_point() and values.numel()]:
        damaged = {**tensors, name: tensors[name].clone()}
        damaged[name].view(-1)[-1] = value
        save_file(damaged, model_folder / WEIGHTS)
        sealed(json.loads((model_folder / "config.json").read_text()), model_folder)
        with pytest.raises(OrdinateError, match=f"holds NaN or infinity in '{name}'"):
            ordinate.load(model_folder)


def test_loading_leaves_the_random_state_as_it_was(saved):
    torch.manual_seed(7)
    ordinate.load(saved)
    drawn = torch.rand(1)
    torch.manual_seed(7)
    assert torch.equal(drawn, torch.rand(1))


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(OrdinateError, match=r"model: .* holds no config\.json, expected a folder that `save`"):
        ordinate.load(tmp_path)
    with pytest.raises(OrdinateError, match=r"model: there is no folder .*absent, expected a folder that `save`"):
        ordinate.load(tmp_path / "absent")


@for_every_estimator
def test_a_model_that_is_not_fitted_is_not_saved(make, tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        make().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
