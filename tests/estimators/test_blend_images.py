"""A blend that is trained on the features of a pretrained network for images."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import ordinate
from ordinate import BlendClassifier, BlendRegressor, ImageOptions, OrdinateError
from ordinate.blend.samples import FoldedSamples
from ordinate.encoders.image import build_image_encoder
from ordinate.encoders.pixels import FrozenImageEncoder, ImageComponents
from ordinate.model.export import export_model
from tests.data import pictures
from tests.estimators.examples import Make

RANKS = np.arange(60) % 3
IMAGES = np.asarray(pictures.draw(RANKS), dtype=np.uint8)
pytestmark = pytest.mark.usefixtures("few_trees")
SMALL = {"encoder": "test_resnet", "embedding_dim": 4, "batch_size": None, "members": 4, "folds": 4, "epochs": 20}
ranks, targets = Make(BlendClassifier, **SMALL), Make(BlendRegressor, **SMALL)
both = pytest.mark.parametrize("make", [ranks, targets], ids=["ranks", "targets"])


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """Options with weights in a file, of a network that no one trained."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "test_resnet.pth"
    torch.save(build_image_encoder("test_resnet", (1, 16, 16), 8).backbone.state_dict(), path)
    return ImageOptions(pretrained=str(path))


@pytest.fixture(scope="module")
def fitted(options):
    return {make: make(data=options).fit(IMAGES, RANKS) for make in (ranks, targets)}


@both
def test_it_learns_and_is_the_same_when_saved_and_loaded(make, fitted, tmp_path):
    model = fitted[make]
    assert np.abs(model.predict(IMAGES) - RANKS).mean() < 0.4
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(IMAGES), model.transform(IMAGES))
    np.testing.assert_array_equal(loaded.predict(IMAGES), model.predict(IMAGES))


def test_the_same_seed_gives_the_same_model(fitted, options):
    again = targets(data=options).fit(IMAGES, RANKS)
    np.testing.assert_array_equal(again.transform(IMAGES), fitted[targets].transform(IMAGES))


def test_new_images_pass_the_same_network_and_components_as_training_images(fitted):
    """The columns that its parts were trained on are what its encoder computes of the same images."""
    model = fitted[ranks]
    seen = []
    hook = model.encoder_.members.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    model.transform(IMAGES)
    hook.remove()
    network = model.encoder_.images.network
    features = network.features(torch.from_numpy(IMAGES)).numpy()
    standardised = StandardScaler().fit_transform(features.astype(np.float64))
    expected = PCA(59, svd_solver="full").fit_transform(standardised)
    expected /= expected[:, 0].std(ddof=1)
    found = torch.cat(seen).double().numpy()
    leading = slice(10)  # The last are those of rounding.
    scale = np.sign((found * expected)[:, leading].sum(0))
    np.testing.assert_allclose(found[:, leading], scale * expected[:, leading], atol=2e-3)


def test_a_feature_that_does_not_vary_gives_no_noise():
    pool = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    components = ImageComponents(FrozenImageEncoder(pool, 3, None, [0.5] * 3, [0.25] * 3).eval(), 3)
    features = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    features[:, 1] = 7.0
    components.fit(features)
    found = components.of_features(features)
    deviations = found.std(0).numpy()
    np.testing.assert_allclose(deviations[0], 1, rtol=1e-5)
    assert 0.5 < deviations[1] < 1
    assert found[:, 2].abs().max() == 0


def test_it_is_exported_with_its_network(fitted, tmp_path):
    exported = export_model(fitted[ranks].fitted, tmp_path / "model.onnx")
    assert max(exported.differences.values()) < 1e-3


def test_images_without_pretrained_weights_are_refused(options):
    with pytest.raises(OrdinateError, match=r"images without pretrained weights, expected ImageOptions\(pretrained"):
        ranks(data=replace(options, pretrained=False)).fit(IMAGES, RANKS)
    with pytest.raises(OrdinateError, match="encoder: got 'resnet18', expected 'auto' for a table"):
        ranks(encoder="resnet18").fit(IMAGES.reshape(60, -1), RANKS)


@pytest.mark.parametrize(("informative", "count"), [(3, 16), (20, 32), (50, 64)])
def test_as_many_components_are_kept_as_a_linear_model_predicts_best_from(informative, count):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 64))
    y = torch.from_numpy(x[:, informative - 2] * 3 + rng.normal(size=300))[:, None]
    samples = FoldedSamples(torch.from_numpy(x).float(), y / y.std(), None, np.arange(300) % 5, np.arange(64))
    method = BlendRegressor().checked_method()
    assert method._best_count_of_components(samples) == count
    components = ImageComponents(FrozenImageEncoder(torch.nn.Flatten(), 64, None, [0.5], [0.25]), 64)
    components.axes.fill_(1.0)
    components.keep(count)
    assert components.axes.any(0).tolist() == [True] * count + [False] * (64 - count)


def test_images_of_another_kind_are_told_by_the_distance_of_their_features(fitted, tmp_path):
    model = fitted[ranks]
    images = model.encoder_.images
    features = images.network.features(torch.from_numpy(IMAGES)).double().numpy()
    deviation = features.std(0)
    expected = ((features - features.mean(0)) / np.maximum(deviation, 1e-3 * deviation.max())) ** 2
    np.testing.assert_allclose(model.transform(IMAGES)[:, -1], expected.mean(1) ** 0.5, rtol=1e-3)
    held_out = pictures.draw(RANKS, seed=1)
    model.model_ = model.model_.with_novelty(torch.from_numpy(model.transform(held_out)))
    model.save(tmp_path / "model")
    noise = np.random.default_rng(0).integers(0, 256, (8, *IMAGES.shape[1:]), dtype=np.uint8)
    for each in (model, ordinate.load(tmp_path / "model")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            each.predict(held_out)
        with pytest.warns(UserWarning, match=r"features of images lie farther from .*\(8 of 8 rows\)"):
            each.predict(noise)
        one = np.concatenate([held_out, noise[:1]])
        with pytest.warns(UserWarning, match=rf"an image is of another kind: .*, the first is row {len(RANKS)}\)"):
            each.predict(one)
