"""Estimators of learned representations: scikit-learn's, saved and resumed to the bit, on all kinds of data."""

import pickle
import re
import signal
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import ordinate
from ordinate import ImageOptions
from ordinate.errors import OrdinateError
from ordinate.functional.similarity import unit
from ordinate.training.staged_method import StagedMethod
from ordinate_papers.estimators import representation
from ordinate_papers.estimators.logistic import fit_logistic
from ordinate_papers.estimators.representation import (
    LOSSES,
    RepresentationClassifier,
    RepresentationRegressor,
)
from tests import processes
from tests.data import pictures
from tests.estimators.conformity import EQUIVALENCE, UNWEIGHTED, parametrize_with_essential_checks, run_check
from tests.estimators.examples import SMALL, draw_frame, draw_table, in_groups, ranks_of

X, TARGET = draw_table()
RANKS = ranks_of(TARGET)


def classifier(loss, **options):
    return RepresentationClassifier(
        **in_groups(RepresentationClassifier, {**SMALL, "loss": loss, "epochs": 4, **options})
    )


def regressor(loss, **options):
    return RepresentationRegressor(
        **in_groups(RepresentationRegressor, {**SMALL, "loss": loss, "epochs": (2, 2), "bin_size": 0.5, **options})
    )


RANK_LOSSES = [name for name, traits in LOSSES.items() if traits.of_ranks]
ALL = [
    *(partial(classifier, loss) for loss in RANK_LOSSES),
    *(partial(regressor, loss) for loss in ("supcon", "simclr", "dino")),
]
for_every_one = pytest.mark.parametrize("make", ALL, ids=lambda make: f"{make.func.__name__} {make.args[0]}")
KINDS = [partial(classifier, "triplet"), partial(classifier, "dino"), *ALL[-3:]]
for_one_of_each_kind = pytest.mark.parametrize("make", KINDS, ids=lambda make: f"{make.func.__name__} {make.args[0]}")


def labels_for(make, target):
    return ranks_of(target) if make.func is classifier else target


def assert_same_model(actual, expected, X):
    weights, wanted = actual.encoder_.state_dict(), expected.encoder_.state_dict()
    assert weights.keys() == wanted.keys()
    assert [name for name in wanted if not torch.equal(weights[name], wanted[name])] == []
    np.testing.assert_array_equal(actual.predict(X), expected.predict(X))
    np.testing.assert_array_equal(actual.transform(X), expected.transform(X))
    if hasattr(expected, "predict_proba"):
        np.testing.assert_array_equal(actual.predict_proba(X), expected.predict_proba(X))


def exceptions(estimator):
    return EQUIVALENCE if estimator.unweighted is None else UNWEIGHTED


@parametrize_with_essential_checks(
    [RepresentationClassifier(epochs=8, decision="mode"), RepresentationRegressor(loss="simclr", epochs=(3, 6))],
    exceptions,
)
def test_scikit_learn_checks_the_estimator(estimator, check):
    run_check(estimator, check)


@pytest.mark.typical("classifier triplet", "classifier dino", "regressor supcon", "regressor simclr", "regressor dino")
@for_every_one
def test_a_loaded_or_pickled_model_is_the_saved_one(make, tmp_path):
    frame, target = draw_frame()
    model = make().fit(frame, labels_for(make, target))
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert loaded.history_ == model.history_
    new = draw_frame(seed=1)[0]
    for copy in (loaded, pickle.loads(pickle.dumps(model))):
        assert_same_model(copy, model, new)


@pytest.mark.parametrize("options", [{"head_loss": "or"}, {"scheme": "regularise"}, {"scheme": "fine_tune"}])
def test_the_schemes_and_heads_of_a_regressor_survive_a_save(options, tmp_path):
    model = regressor("supcon", head="linear", **options).fit(X, TARGET)
    model.save(tmp_path / "model")
    assert_same_model(ordinate.load(tmp_path / "model"), model, draw_table(seed=1)[0])


# learning


@pytest.mark.typical("linear", "triplet")
@pytest.mark.parametrize("loss", sorted(set(RANK_LOSSES) - {"simclr", "dino"}))
@pytest.mark.parametrize("head", ["linear", "neighbours"])
def test_the_rank_of_new_samples_is_learned(loss, head):
    X, target = draw_table(260)
    ranks = ranks_of(target)
    model = classifier(loss, head=head, epochs=15, batch_size=100).fit(X[:200], ranks[:200])
    assert model.score(X[200:], ranks[200:]) > 0.75


def test_the_linear_head_is_a_logistic_regression_on_unit_embeddings():
    model = classifier("supcon").fit(X, RANKS)
    embedded = unit(torch.from_numpy(model.transform(X))).numpy()
    embedded = (embedded - embedded.mean(0)) / np.sqrt(embedded.var(0).mean())
    expected = LogisticRegression(max_iter=1000).fit(embedded, RANKS).predict_proba(embedded)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_rank_without_a_sample_has_probability_0(classes):
    embedded = torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ranks = torch.arange(40) % classes * 2
    probabilities = fit_logistic(embedded, ranks, num_classes=6)(embedded).softmax(1)
    assert probabilities[:, [1, 3, 5]].max() == 0
    scaled = (embedded - embedded.mean(0)) / embedded.var(0, correction=0).mean().sqrt()
    expected = LogisticRegression(max_iter=1000).fit(scaled, ranks).predict_proba(scaled)
    np.testing.assert_allclose(probabilities[:, ranks.unique()].numpy(), expected, rtol=0, atol=1e-5)


# views


def test_only_losses_of_views_draw_views_of_tables_and_a_column_is_replaced_as_one():
    frame, target = draw_frame()
    model = classifier("simclr", epochs=1).fit(frame, ranks_of(target))
    assert model.checked_method().draw(model.reader_).widths == tuple(column.width for column in model.reader_.columns)
    other = classifier("supcon", epochs=1).fit(X, RANKS)
    assert other.checked_method().draw(other.reader_) is None


PICTURE_RANKS = np.arange(60) % 3
DRAWN, NEW = pictures.draw(PICTURE_RANKS), pictures.draw(np.arange(30) % 3, seed=1)


@for_one_of_each_kind
def test_pictures_are_learned_and_saved(make, tmp_path):
    options = {"epochs": 1} if make.func is classifier else {"epochs": (1, 1)}
    model = make(encoder="test_resnet", data=ImageOptions(workers=0), **options)
    model.fit(DRAWN, PICTURE_RANKS if make.func is classifier else PICTURE_RANKS.astype(float))
    model.save(tmp_path / "model")
    assert_same_model(ordinate.load(tmp_path / "model"), model, NEW)


@pytest.mark.parametrize(("loss", "views"), [("supcon", 2), ("supcr", 2), ("simclr", 2), ("dino", 2), ("triplet", 1)])
def test_a_batch_holds_the_views_that_the_loss_compares(loss, views, monkeypatch):
    seen = []
    monkeypatch.setattr(representation.Representation, "batch_loss", spy(seen, representation.Representation))
    monkeypatch.setattr(representation.DINO, "batch_loss", spy(seen, representation.DINO))
    classifier(loss, encoder="test_resnet", data=ImageOptions(workers=0), epochs=1, batch_size=16).fit(
        DRAWN, PICTURE_RANKS
    )
    x, y = seen[0]
    assert len(y) in (15 * views, 16 * views)
    if views == 2:
        assert torch.equal(y[::2], y[1::2])
        assert not torch.equal(x[::2], x[1::2])


def spy(seen, method):
    batch_loss = method.batch_loss
    return lambda self, x, y: seen.append((x, y)) or batch_loss(self, x, y)


# killed and resumed


def fit_and_die(make, folder, epoch):
    step = StagedMethod.training_step

    def step_and_die(method, *data):
        loss = step(method, *data)
        if (method.current_epoch, method.step) == (epoch, 1):
            processes.kill_me()
        return loss

    StagedMethod.training_step = step_and_die
    make(checkpoint_dir=folder).fit(X, labels_for(make, TARGET))


@pytest.mark.typical("classifier triplet", "classifier dino", "regressor supcon", "regressor simclr", "regressor dino")
@for_every_one
def test_a_killed_fit_ends_with_the_weights_of_one_that_was_not(make, tmp_path):
    assert processes.run(fit_and_die, make, tmp_path, 1) == -signal.SIGKILL
    labels = labels_for(make, TARGET)
    assert_same_model(make(checkpoint_dir=tmp_path).fit(X, labels), make().fit(X, labels), X)


# what cannot be used is refused before an epoch is trained


REFUSED = {
    "an unknown loss": (partial(classifier, "arcface"), {}, RANKS, "loss: got 'arcface', expected one of"),
    "a loss that regression has not": (partial(regressor, "triplet"), {}, TARGET, "loss: got 'triplet', expected"),
    "an unknown head": (ALL[0], {"head": "svm"}, RANKS, "head: got 'svm', expected one of"),
    "no neighbours": (ALL[0], {"n_neighbors": 0}, RANKS, "n_neighbors: got 0"),
    "a temperature that is none": (ALL[0], {"temperature": 0.0}, RANKS, "temperature: got 0.0"),
    "a temperature for triplets": (
        partial(classifier, "triplet"), {"temperature": 0.1}, RANKS,
        "temperature: got 0.1 for the loss 'triplet', which has none",
    ),
    "no projection": (ALL[0], {"projection_dim": 0}, RANKS, "projection_dim: got 0"),
    "two ranks in quadruplets": (
        partial(classifier, "quadruplet"), {}, RANKS > 0,
        "y: got 2 classes of two samples or more, expected at least 3 for the loss 'quadruplet'",
    ),
    "ranks alone": (
        ALL[0], {}, np.r_[np.zeros(47, int), 1], "y: got 1 class of two samples or more, expected at least 2 for"
    ),
    "bins too small": (partial(regressor, "supcon"), {"bin_size": 1e-4}, TARGET, "bin_size: got 0.0001"),
    "a bin too large": (partial(regressor, "supcon"), {"bin_size": 1e4}, TARGET, "bin_size: got 10000.0"),
    "no bin": (partial(regressor, "supcon"), {"bin_size": 0.0}, TARGET, "bin_size: got 0.0"),
    "DINO as a regulariser": (
        partial(regressor, "dino"), {"scheme": "regularise"}, TARGET, "scheme: got 'regularise', expected one of"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "options", "y", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused(make, options, y, message, monkeypatch):
    monkeypatch.setattr(StagedMethod, "training_step", lambda *_: pytest.fail("trained an epoch"))
    with pytest.raises(OrdinateError, match=f"^{re.escape(message)}"):
        make(**options).fit(X, y)
