"""A pretrained network that stays as it is: what is trained, saved, exported, and what it saves."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import ordinate
from ordinate import CLOCClassifier, ImageOptions, OrdinateError, OTDClassifier, SupCRRegressor
from ordinate.data.images.files import ImageFiles
from ordinate.data.streamed import StreamedPixels
from ordinate.data.training_batches import ArrayBatches
from ordinate.encoders.image import FrozenImageEncoder, build_image_encoder
from ordinate.estimators import frozen_features
from ordinate_papers.estimators import RepresentationClassifier
from tests.data import pictures
from tests.estimators.examples import Make

RANKS = np.arange(60) % 3
IMAGES = np.asarray(pictures.draw(RANKS), dtype=np.uint8)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Options with weights in a file, of a network that no one trained."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "test_resnet.pth"
    torch.save(build_image_encoder("test_resnet", (1, 16, 16), 8).backbone.state_dict(), path)
    return ImageOptions(pretrained=str(path), frozen=True)


NETWORK = {"encoder": "test_resnet", "embedding_dim": 64, "batch_size": None}
BUILD = {
    "cloc": Make(CLOCClassifier, **NETWORK, epochs=(20, 20)),
    "otd": Make(OTDClassifier, **NETWORK, epochs=30),
    "supcr": Make(SupCRRegressor, **NETWORK, epochs=(20, 10)),
}


@pytest.mark.parametrize("name", BUILD)
def test_a_model_on_frozen_features_learns_saves_and_loads(name, images, tmp_path):
    model = BUILD[name](data=images).fit(IMAGES, RANKS)
    assert np.abs(model.predict(IMAGES) - RANKS).mean() < 0.4
    weights = torch.load(images.pretrained, weights_only=True)
    kept = model.encoder_.backbone.state_dict()
    assert all(torch.equal(value.float(), kept[key].float()) for key, value in weights.items())
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ordinate.load(tmp_path / "model").transform(IMAGES), model.transform(IMAGES))


def test_features_are_kept_apart_from_those_of_mirrored_images(images):
    plain, mirrored = (
        BUILD["otd"](data=replace(images, mirror=mirror), epochs=2).fit(IMAGES, RANKS) for mirror in (False, True)
    )
    turned = np.ascontiguousarray(IMAGES[..., ::-1])
    np.testing.assert_allclose(mirrored.transform(turned), mirrored.transform(IMAGES), atol=1e-5)
    assert np.abs(plain.transform(turned) - plain.transform(IMAGES)).max() > 1e-3


def test_the_network_runs_once_over_the_training_images(images, monkeypatch):
    seen = []
    features = FrozenImageEncoder.features
    monkeypatch.setattr(FrozenImageEncoder, "features", lambda self, x: seen.append(len(x)) or features(self, x))
    fresh = 255 - IMAGES
    BUILD["otd"](data=images, epochs=2).fit(fresh, RANKS)
    assert sum(seen) == len(IMAGES)
    first = BUILD["cloc"](data=images, epochs=(1, 1)).fit(fresh[:40], RANKS[:40])
    assert sum(seen) == len(IMAGES)  # a second training, on a part of them
    frozen_features._features_of.clear()
    again = BUILD["cloc"](data=images, epochs=(1, 1)).fit(fresh[:40], RANKS[:40])
    np.testing.assert_allclose(again.transform(fresh), first.transform(fresh), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("fits", [True, False])
def test_features_of_pictures_that_stream_are_those_of_pictures_in_memory(images, tmp_path, fits, monkeypatch):
    monkeypatch.setattr(frozen_features, "too_large", lambda shape: None if fits else "a note")
    paths = pictures.write(tmp_path, IMAGES, [f"{i:02}.png" for i in range(60)])
    model = BUILD["otd"](data=images).set_params(epochs=1).fit(IMAGES, RANKS)
    encoder = model.encoder_
    x = StreamedPixels(ImageFiles(paths), model.reader_.preprocessing)
    data = frozen_features.frozen_features(encoder, ArrayBatches(x, torch.arange(60)), images, torch.device("cpu"))
    expected = frozen_features.frozen_features(
        encoder, ArrayBatches(torch.from_numpy(IMAGES), torch.arange(60)), images, torch.device("cpu")
    )
    torch.testing.assert_close(data.x, expected.x)


def test_a_fit_that_was_stopped_continues(images, tmp_path):
    whole = BUILD["otd"](data=images, epochs=5).fit(IMAGES, RANKS)
    part = BUILD["otd"](data=images, epochs=5, checkpoint_dir=tmp_path)

    def die(method):
        if method.current_epoch == 3:
            raise ConnectionError
        return start(method)

    kind = ordinate.methods.OTD
    start = kind.begin_epoch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "begin_epoch", die)
        with pytest.raises(ConnectionError):
            part.fit(IMAGES, RANKS)
    part.fit(IMAGES, RANKS)
    np.testing.assert_array_equal(part.transform(IMAGES), whole.transform(IMAGES))


def test_frozen_without_weights_is_refused():
    with pytest.raises(OrdinateError, match="frozen: got True with pretrained=False"):
        ImageOptions(frozen=True)


@pytest.mark.parametrize("given", [{"augmentation": "supcr"}, {"views": 2}], ids=str)
def test_features_that_are_computed_once_have_no_views(given):
    with pytest.raises(OrdinateError, match="frozen: got True with augmentation="):
        ImageOptions(pretrained=True, frozen=True, **given)


@pytest.mark.parametrize("loss", ["simclr", "dino"])
def test_a_loss_of_views_is_refused_instead_of_pairing_other_images(loss):
    model = RepresentationClassifier(loss=loss, data=ImageOptions(pretrained=True, frozen=True), epochs=1)
    with pytest.raises(OrdinateError, match=f"frozen: got True, expected False for the loss '{loss}'"):
        model.fit(np.zeros((12, 3, 40, 40), np.uint8), np.arange(12) % 3)
