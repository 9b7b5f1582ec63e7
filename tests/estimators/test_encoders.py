"""Encoders of users: copied, cloned, searched over, saved, loaded, trained in part."""

import copy
import json
import pickle
import shutil

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from torch import nn

import ordinate
from ordinate import ImageOptions, OrdinateError, TextOptions
from ordinate.model.export import export_model
from tests.data import pictures
from tests.data.small_transformer import write_transformer
from tests.data.small_vision import write_vision_network
from tests.estimators.examples import (
    cloc,
    draw_series,
    draw_table,
    for_every_estimator,
    labels_for,
    otd,
    ranks_of,
    supcr,
)

timm = pytest.importorskip("timm")
pytest.importorskip("transformers")
IMAGES = {"data": ImageOptions(augmentation="none", workers=0)}


def two_layers(embedding_dim, inputs=3):
    return nn.Sequential(nn.Linear(inputs, 6), nn.Tanh(), nn.Linear(6, embedding_dim or 5))


def seeded(make, *arguments, **options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make(*arguments, **options)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {
        "vision": f"hf:{write_vision_network(tmp_path_factory.mktemp('vision'))}",
        "text": f"hf:{write_transformer(tmp_path_factory.mktemp('text'))}",
    }


def draw_pictures(n=24, channels=3):
    ranks = np.arange(n) % 3
    return pictures.draw(ranks, seed=0, channels=channels, side=16), ranks


def draw_texts():
    return ["a dog runs", "a cat sleeps", "rain again", "a red car", "a dog sleeps", "again a cat"] * 4, np.arange(
        24
    ) % 3


@pytest.fixture(params=["module", "function", "timm", "hf vision", "hf text", "name"])
def case(request, folders):
    """Encoder, further options, samples and ranks."""
    table, target = draw_table(24)
    return {
        "module": lambda: (seeded(two_layers, 6), {}, table, ranks_of(target)),
        "function": lambda: (two_layers, {}, table, ranks_of(target)),
        "timm": lambda: (seeded(timm.create_model, "test_resnet"), IMAGES, *draw_pictures()),
        "hf vision": lambda: (folders["vision"], IMAGES, *draw_pictures()),
        "hf text": lambda: (folders["text"], {"data": TextOptions(frozen=False)}, *draw_texts()),
        "name": lambda: ("mlp", {}, table, ranks_of(target)),
    }[request.param]()


def test_clones_searches_pickles_and_saved_models_predict_the_same(case, tmp_path):
    encoder, options, X, ranks = case
    before = copy.deepcopy(encoder.state_dict()) if isinstance(encoder, nn.Module) else {}
    model = cloc(encoder=encoder, **options).fit(X, ranks)
    assert model.get_params()["encoder"] is encoder
    assert all(torch.equal(encoder.state_dict()[name], value) for name, value in before.items())

    search = GridSearchCV(cloc(**options), {"encoder": [encoder]}, cv=2).fit(X, ranks)
    model.save(tmp_path / "model")
    given = {} if isinstance(encoder, str) else {"encoder": encoder}
    loaded = ordinate.load(tmp_path / "model", **given)
    loaded.save(tmp_path / "again")
    again = ordinate.load(tmp_path / "again", **given)
    copies = [clone(model).fit(X, ranks), search.best_estimator_, pickle.loads(pickle.dumps(model)), loaded, again]
    expected = model.predict_proba(X)
    assert expected.std(0).max() > 0
    for other in copies:
        np.testing.assert_array_equal(other.predict_proba(X), expected)


class Tokens(nn.Module):
    """Gives tokens (n, t, 5) of whatever it gets."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 5)

    def forward(self, x):
        return self.linear(x.flatten(2).transpose(1, 2))


DATA = {
    "tables": lambda: (*draw_table(24), seeded(nn.Linear, 3, 5)),
    "series": lambda: (*draw_series(24), seeded(nn.Conv1d, 2, 5, 3)),
    "images": lambda: (*draw_pictures(), seeded(Tokens, 3)),
    "volumes": lambda: (
        np.random.default_rng(0).random((12, 1, 6, 6, 6)),
        np.arange(12.0),
        seeded(nn.Conv3d, 1, 5, 3),
    ),
    "text": lambda: (draw_texts()[0], np.arange(24.0), seeded(nn.GRU, 100, 5, batch_first=True)),
    "pairs of texts": lambda: (
        [*zip(draw_texts()[0], draw_texts()[0][::-1], strict=True)],
        np.arange(24.0),
        seeded(nn.GRU, 100, 5, batch_first=True),
    ),
}


@pytest.mark.parametrize("kind", DATA)
def test_every_kind_of_data_passes_a_module(kind, tmp_path):
    X, y, module = DATA[kind]()
    options = {"data": TextOptions()} if "text" in kind else IMAGES if "image" in kind else {}
    model = supcr(encoder=module, chunk_size=5, batch_size=8, **options).fit(X, y)
    embeddings = model.transform(X)
    assert embeddings.shape == (len(X), 8)
    assert len(np.unique(embeddings.round(9), axis=0)) > 2
    np.testing.assert_allclose(model.transform(X[:1]), embeddings[:1], rtol=1e-4, atol=1e-5)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model", encoder=module).transform(X), embeddings)


@for_every_estimator
@pytest.mark.parametrize("encoder", ["auto", seeded(two_layers, 5), two_layers], ids=["name", "module", "function"])
def test_without_a_dimension_the_embedding_is_what_the_network_gives(make, encoder, tmp_path):
    X, target = draw_table(24)
    model = make(encoder=encoder, embedding_dim=None).fit(X, labels_for(make, target))
    width = 256 if encoder == "auto" else 5
    assert model.transform(X).shape == (24, width)
    assert model.embedding_dim_ == width == len(model.get_feature_names_out())
    assert list(model.encoder_.children())[-1].__class__ is not nn.Linear
    model.save(tmp_path / "model")
    given = {} if encoder == "auto" else {"encoder": encoder}
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model", **given).predict(X), model.predict(X))


def trained_tensors(model, before):
    now = model.encoder_.state_dict()
    return {name for name, value in now.items() if name in before and not torch.equal(value.float(), before[name])}


@pytest.mark.parametrize("part", ["all", 1, "none"])
def test_what_is_not_trained_stays_as_it_is(part, tmp_path):
    X, ranks = draw_pictures()
    network = timm.create_model("test_resnet", num_classes=0)
    before = {f"backbone.{name}": value.clone() for name, value in network.state_dict().items()}
    model = cloc(encoder=network, train_encoder=part, epochs=(1, 1), **IMAGES).fit(X, ranks)
    changed = trained_tensors(model, before)
    stages = {name.split(".")[1] for name in changed}
    assert (
        stages == {"all": {"conv1", "bn1", "layer1", "layer2", "layer3", "layer4"}, 1: {"layer4"}, "none": set()}[part]
    )
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model", encoder=network).transform(X), model.transform(X))


def test_a_text_model_is_trained_in_its_last_blocks(folders):
    X, ranks = draw_texts()
    changed = {}
    for part in ("none", 1, "all"):
        model = cloc(encoder=folders["text"], train_encoder=part, data=TextOptions()).fit(X, ranks)
        network = model.reader_.pretrained.network if part == "none" else model.encoder_.sentences
        start = cloc(encoder=folders["text"], data=TextOptions(), epochs=(1, 1)).fit(X, ranks)
        before = start.reader_.pretrained.network.state_dict()
        changed[part] = {
            name.split(".")[3] if "layer." in name else name.split(".")[1]
            for name, value in network.state_dict().items()
            if not torch.equal(value.float(), before[name])
        }
    assert changed == {"none": set(), 1: {"1"}, "all": {"embeddings", "0", "1"}}


def test_the_network_has_a_learning_rate_of_its_own():
    X, target = draw_table(24)
    network = seeded(two_layers, 6)

    def moved(**options):
        """How far the network, and the layer on it, are from where they started."""
        model = supcr(**{"encoder": network, "scheme": "fine_tune", "weight_decay": 0, **options})
        now = model.fit(X, target).encoder_
        start = supcr(encoder=network, epochs=(1, 1), learning_rate=1e-30).fit(X, target).encoder_
        pairs = [(part(now), part(start)) for part in (lambda e: e.backbone[0].weight, lambda e: e.embedding.weight)]
        return [float((one - other).detach().abs().max()) for one, other in pairs]

    (usual, usual_layer), (slow, slow_layer) = moved(), moved(encoder_learning_rate=1e-9)
    assert 0 < slow < 1e-6 < 1e-4 < usual
    assert 1e-4 < slow_layer < 10 * usual_layer
    regularise = {"scheme": "regularise"}  # has one stage, at learning_rate
    assert moved(encoder_learning_rate=1e-3, **regularise) == moved(**regularise)


class KilledError(Exception):
    pass


def test_a_fit_that_was_stopped_continues_from_the_same_network_alone(tmp_path, monkeypatch):
    X, target = draw_table(24)
    whole = otd(encoder=seeded(two_layers, 6)).fit(X, ranks_of(target))
    start = ordinate.methods.OTD.begin_epoch

    def die(method):
        if method.current_epoch == 1:
            raise KilledError
        start(method)

    killed = otd(encoder=seeded(two_layers, 6), checkpoint_dir=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(ordinate.methods.OTD, "begin_epoch", die)
        with pytest.raises(KilledError):
            killed.fit(X, ranks_of(target))
    others = [two_layers(6), nn.Sequential(*seeded(two_layers, 6), nn.Tanh()), two_layers, "mlp"]
    others.append(seeded(two_layers, 6).requires_grad_(False))
    for other in others:
        with pytest.raises(OrdinateError, match=r"checkpoint_dir: .* is of a fit with other data or settings"):
            otd(encoder=other, checkpoint_dir=tmp_path).fit(X, ranks_of(target))
    again = otd(encoder=seeded(two_layers, 6), checkpoint_dir=tmp_path).fit(X, ranks_of(target))
    np.testing.assert_array_equal(again.transform(X), whole.transform(X))


@pytest.mark.parametrize("kind", ["vision", "text"])
def test_a_saved_model_needs_no_folder_of_its_network(kind, tmp_path):
    write = {"vision": write_vision_network, "text": write_transformer}[kind]
    X, ranks = draw_pictures() if kind == "vision" else draw_texts()
    options = IMAGES if kind == "vision" else {"data": TextOptions()}
    model = cloc(encoder=f"hf:{write(tmp_path / 'network')}", **options).fit(X, ranks)
    model.save(tmp_path / "model")
    shutil.rmtree(tmp_path / "network")
    loaded = ordinate.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    near = write_transformer(tmp_path / "networks")
    with pytest.raises(OrdinateError, match=f"encoder: got .*network', expected a folder .*; did you mean hf:{near}"):
        clone(loaded).fit(X, ranks)


def test_a_model_with_a_module_says_that_it_is_missing_or_another(tmp_path):
    X, target = draw_table(24)
    module = seeded(two_layers, 6)
    cloc(encoder=module).fit(X, ranks_of(target)).save(tmp_path / "model")
    cloc().fit(X, ranks_of(target)).save(tmp_path / "named")
    wide = nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 6))
    for given, message in [
        (None, r"encoder: the model in .*model was trained with a module of the user, Sequential, whose code is not "
               r"saved; ordinate\.load\(.*, encoder=Sequential\(\.\.\.\)\)"),
        (wide, "encoder: does not fit the saved weights: .*size mismatch for backbone.0.weight"),
        (nn.Linear(9, 2), r"encoder: Linear does not take samples of shape \(3,\)"),
        (two_layers, "encoder: got two_layers, expected a module, as in training: Sequential"),
        ("mlp", "encoder: got 'mlp', expected a module, as in training: Sequential"),
    ]:  # fmt: skip
        with pytest.raises(OrdinateError, match=message):
            ordinate.load(tmp_path / "model", encoder=given)
    with pytest.raises(OrdinateError, match="encoder: got Sequential, expected None, as the model brings its own, 'a"):
        ordinate.load(tmp_path / "named", encoder=module)


def test_the_folder_of_a_model_with_a_module_holds_no_code(tmp_path):
    X, target = draw_table(24)
    cloc(encoder=seeded(two_layers, 6)).fit(X, ranks_of(target)).save(tmp_path / "model")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "config.json", "history.json", "MODEL_CARD.md", "weights.safetensors"
    }  # fmt: skip
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["params"]["encoder"] == {"module": "Sequential"}


@pytest.mark.typical("timm", "hf text")
@pytest.mark.parametrize("case", ["module", "timm", "hf vision", "hf text"], indirect=True)
def test_networks_of_users_are_exported(case, tmp_path):
    pytest.importorskip("onnxscript")
    encoder, options, X, ranks = case
    model = cloc(encoder=encoder, **options).fit(X, ranks)
    if isinstance(options.get("data"), TextOptions):
        with pytest.raises(OrdinateError, match="export: got a model of text"):
            export_model(model.fitted, tmp_path / "model.onnx")
    else:
        assert export_model(model.fitted, tmp_path / "model.onnx").differences["embedding"] < 1e-6


class SizeOfItsOwn(nn.Linear):
    """Works in Python, on batches that a graph cannot follow."""

    def forward(self, x):
        return torch.stack([super(SizeOfItsOwn, self).forward(row) for row in x])


def test_a_network_that_no_graph_can_hold_is_said_so(tmp_path):
    X, target = draw_table(24)
    model = cloc(encoder=SizeOfItsOwn(3, 4)).fit(X, ranks_of(target))
    with pytest.raises(OrdinateError, match=r"encoder: cannot be exported as \.pt2"):
        export_model(model.fitted, tmp_path / "model.pt2")
    assert not list(tmp_path.iterdir())


def test_a_network_that_keeps_to_float32_is_told_that_predictions_are_in_float64():
    class OfFloats(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 4)
            self.shift = torch.ones(4)

        def forward(self, x):
            return self.linear(x.float()) + self.shift

    with pytest.raises(OrdinateError, match=r"in float64.*use x\.dtype, and register buffers"):
        cloc(encoder=OfFloats()).fit(np.zeros((12, 3)), np.arange(12) % 3)


def test_square_arrays_are_series_and_a_warning_says_what_images_are():
    square = np.random.default_rng(0).normal(size=(24, 8, 8))
    with pytest.warns(UserWarning, match=r"read as series of 8 channels and 8 points; grey images are \(n, 1, 8, 8\)"):
        cloc(epochs=(1, 1)).fit(square, np.arange(24) % 3)
