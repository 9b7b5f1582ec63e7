"""What held-out samples said comes back as it was written, and gives sets in the labels' own terms."""

import pickle

import numpy as np
import pytest

import ordinate
from ordinate.decisions import calibrate_ranks, interval_coverage, rank_sets
from ordinate.errors import OrdinateError
from ordinate.model.held_out import HeldOut, predict_sets
from tests.estimators.examples import Trap, cloc, draw_table, for_every_estimator, labels_for, otd, ranks_of, supcr


def fitted(make, n=60, **options):
    X, target = draw_table(2 * n)
    y = labels_for(make, target)
    model = make(**options).fit(X[:n], y[:n])
    return model, HeldOut.measure(model.fitted, X[n:], y[n:])


@for_every_estimator
def test_what_was_written_beside_a_model_gives_the_same_sets_again(make, tmp_path):
    model, held_out = fitted(make)
    model.save(tmp_path / "model")
    held_out.write(tmp_path / "model")
    again, loaded = HeldOut.read(tmp_path / "model"), ordinate.load(tmp_path / "model")
    np.testing.assert_array_equal(again.labels, held_out.labels)
    np.testing.assert_array_equal(again.predicted, held_out.predicted)
    assert again.classes == held_out.classes
    X, _ = draw_table(seed=1)
    for found, expected in zip(
        predict_sets(loaded.fitted, again, X), predict_sets(model.fitted, held_out, X), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
        assert found.shape == (len(X),)


@pytest.mark.parametrize(
    "classes", [np.array(["mild", "moderate", "severe"]), np.array([-1, 4, 9])], ids=["text", "gaps"]
)
@pytest.mark.parametrize("make", [cloc, otd], ids=["cloc", "otd"])
def test_sets_of_ranks_are_pairs_of_labels_around_the_prediction(make, classes):
    X, target = draw_table(120)
    y = classes[ranks_of(target)]
    model = make(class_order=list(classes)).fit(X[:60], y[:60])
    held_out = HeldOut.measure(model.fitted, X[60:], y[60:])
    new, _ = draw_table(seed=1)
    lower, upper = predict_sets(model.fitted, held_out, new, coverage=0.9)
    sets = rank_sets(model.predict_proba(new), calibrate_ranks(ranks_of(target)[60:], model.predict_proba(X[60:]), 0.9))
    decided = model.decide(model.predict_proba(new))
    sets = np.column_stack([np.minimum(sets[:, 0], decided), np.maximum(sets[:, 1], decided)])
    np.testing.assert_array_equal(lower, classes[sets[:, 0]])
    np.testing.assert_array_equal(upper, classes[sets[:, 1]])
    assert lower.dtype == classes.dtype
    place = {label: rank for rank, label in enumerate(classes.tolist())}
    for low, label, high in zip(lower.tolist(), model.predict(new).tolist(), upper.tolist(), strict=True):
        assert place[low] <= place[label] <= place[high]


def test_intervals_of_targets_are_in_their_units_and_cover():
    X, target = draw_table(500)
    model = supcr().fit(X[:60], 1000 * target[:60])
    held_out = HeldOut.measure(model.fitted, X[60:280], 1000 * target[60:280])
    lower, upper = predict_sets(model.fitted, held_out, X[280:], coverage=0.8)
    residuals = np.sort(np.abs(1000 * target[60:280] - model.predict(X[60:280])))
    np.testing.assert_allclose(upper - lower, 2 * residuals[176], rtol=1e-9)  # the 177th, ceil(221 * 0.8)
    measured = interval_coverage(1000 * target[280:], np.stack([lower, upper], axis=1))
    assert measured["coverage"] == pytest.approx(0.8, abs=4 * np.sqrt(0.16 * 2 / 220))


def test_targets_of_several_dimensions_get_a_box():
    X, target = draw_table(120)
    targets = np.stack([target, 100 * target], axis=1)
    model = supcr().fit(X[:60], targets[:60])
    lower, upper = predict_sets(model.fitted, HeldOut.measure(model.fitted, X[60:], targets[60:]), X[:5], coverage=0.9)
    assert lower.shape == upper.shape == (5, 2)
    np.testing.assert_allclose((lower + upper) / 2, model.predict(X[:5]), rtol=0, atol=1e-9)


def test_too_few_held_out_samples_say_how_many_are_needed():
    model, held_out = fitted(otd)
    with pytest.raises(OrdinateError, match=r"coverage: got 0\.99 for 60 samples, expected at least 99"):
        predict_sets(model.fitted, held_out, draw_table()[0], coverage=0.99)


def test_the_record_of_another_kind_of_model_is_refused():
    model, _ = fitted(otd)
    _, targets = fitted(supcr)
    with pytest.raises(OrdinateError, match=r"held_out: got one of the classes None, expected the model's"):
        predict_sets(model.fitted, targets, draw_table()[0])


def test_a_model_without_held_out_samples_is_named(tmp_path):
    with pytest.raises(OrdinateError, match=r"model: .* holds no held_out\.json, expected a model"):
        HeldOut.read(tmp_path)


@pytest.mark.parametrize("name", ["held_out.json", "held_out.safetensors"])
@pytest.mark.parametrize("damage", ["emptied", "cut", "one bit", "a pickle", "removed"])
def test_a_damaged_record_is_refused_and_never_run(name, damage, tmp_path):
    HeldOut(np.arange(3), np.eye(3), [1, 2, 5]).write(tmp_path)
    path = tmp_path / name
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[-2 if name.endswith("s") else content.index(b"5")] ^= 1
    path.write_bytes(
        {
            "emptied": b"", "cut": content[:-20], "one bit": bytes(flipped),
            "a pickle": pickle.dumps(Trap(tmp_path / "sprung")), "removed": b"",
        }[damage]
    )  # fmt: skip
    if damage == "removed":
        path.unlink()
    with pytest.raises(OrdinateError, match="model: "):
        HeldOut.read(tmp_path)
    assert not (tmp_path / "sprung").exists()
