"""SimCSE: dropout makes two views of a text, and targets of one bin are one class."""

import numpy as np
import pytest
import torch

import ordinate
from ordinate import Head, OrdinateError
from ordinate.data.text.options import TextOptions
from ordinate_papers.estimators import RepresentationRegressor
from tests.estimators.test_text import draw_pairs

X, Y = draw_pairs()
TEMPERATURE = 0.05


@pytest.fixture(scope="module")
def model():
    settings = {"embedding_dim": 8, "batch_size": 16, "head": Head(bin_size=2.0), "epochs": (2, 2), "random_state": 0}
    return RepresentationRegressor("bilstm", loss="simcse", data=TextOptions(hidden=6), **settings).fit(X, Y)


@pytest.fixture
def training(model):
    """The method, the words and the targets of a batch as in the first stage of training."""
    method = model.method_.train()
    method.stage_index = 0
    targets = torch.tensor(Y[:12] - model.labels_.offset).float()[:, None]
    yield method, model.fitted.read(X[:12]), targets
    method.eval()


def formula(embeddings, bins):
    """The mean over anchors of the mean over their positives of -log softmax, all other samples as candidates."""
    units = embeddings / embeddings.norm(dim=1, keepdim=True)
    losses = []
    for i in range(len(units)):
        others = [k for k in range(len(units)) if k != i]
        scores = units[others] @ units[i] / TEMPERATURE
        chosen = [place for place, k in enumerate(others) if bins[k] == bins[i]]
        losses.append((scores.logsumexp(0) - scores[chosen]).mean())
    return torch.stack(losses).mean()


def test_the_loss_is_that_of_two_passes_in_which_texts_of_one_bin_are_positives(training):
    method, words, targets = training
    torch.manual_seed(3)
    actual = method.batch_loss(words, targets)
    torch.manual_seed(3)
    embeddings = method.encoder(words.repeat_interleave(2, 0)).double()
    bins = np.round((Y[:12] - Y.min()) / 2).repeat(2)
    assert 1 < len(set(bins)) < 12
    assert actual.item() == pytest.approx(formula(embeddings, bins).item(), abs=1e-4)


def test_the_views_of_a_text_differ_in_training_alone(training):
    method, words, _ = training
    first, second = method.encoder(words.repeat_interleave(2, 0)).unflatten(0, (12, 2)).unbind(1)
    assert ((first - second).abs().amax(1) > 1e-3).all()
    method.eval()
    first, second = method.encoder(words.repeat_interleave(2, 0)).unflatten(0, (12, 2)).unbind(1)
    torch.testing.assert_close(first, second, rtol=0, atol=1e-6)


def test_other_data_than_text_is_refused():
    with pytest.raises(OrdinateError, match=r"^X: got no text, expected text for the loss 'simcse'"):
        RepresentationRegressor(loss="simcse", epochs=(1, 1)).fit(np.eye(30), np.arange(30.0))


# single texts, positives above a score (SupReMix, C.1)

CUT = float(np.quantile(Y, 0.4))


def fit_cut(**options):
    settings = {"embedding_dim": None, "batch_size": 16, "epochs": (2, 2), "random_state": 0, **options}
    text = TextOptions(hidden=6)
    return RepresentationRegressor("bilstm", loss="simcse", positives_above=CUT, data=text, **settings).fit(X, Y)


def test_the_first_text_of_a_pair_above_the_cut_is_told_from_the_second_ones_of_all_pairs(tmp_path):
    model = fit_cut()
    words, targets = model.fitted.read(X[:12]), torch.tensor(Y[:12] - model.labels_.offset).float()[:, None]
    method = model.method_
    method.stage_index = 0
    with torch.no_grad():
        u, v = (method.encoder.sentences(words[:, place]).double() for place in (0, 1))
        losses = []
        for i in range(12):
            scores = torch.stack([torch.cosine_similarity(u[i], v[j], dim=0) for j in range(12)]) / TEMPERATURE
            if Y[i] > CUT:
                losses.append(scores.logsumexp(0) - scores[i])
        assert 2 < len(losses) < 11
        assert method.batch_loss(words, targets).item() == pytest.approx(torch.stack(losses).mean().item(), abs=1e-4)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedding_dim": 8}, "embedding_dim: got 8, expected None with positives_above"),
        ({"loss": "supcon"}, "positives_above: got 2 for the loss 'supcon', expected None"),
        ({"positives_above": 99}, "positives_above: got 99, which no target lies above"),
    ],
)
def test_a_cut_that_has_nothing_to_cut_is_refused(options, message):
    settings = {"loss": "simcse", "positives_above": 2, "embedding_dim": None, "data": TextOptions(), **options}
    with pytest.raises(OrdinateError, match=message):
        RepresentationRegressor("bilstm", **settings).fit(X, Y)
