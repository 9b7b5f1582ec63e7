"""Networks of a blend that are fine-tuned on images: what each has seen, their mean, their weight, kills."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import ordinate
from ordinate import BlendClassifier, BlendRegressor, ImageOptions, OrdinateError, Training
from ordinate.encoders.fine_tuned import scaled
from ordinate.encoders.image import build_image_encoder
from ordinate.estimators import fine_tuning
from ordinate.estimators.fine_tuning import epochs_of_fine_tuning
from ordinate.methods.fine_tuned import TargetNetwork
from ordinate.model.export import export_model
from ordinate.model.predictions import Predictions
from ordinate.report.page.contents import gather
from ordinate.report.page.measures import score_all
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import StagedMethod
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from tests.data import pictures
from tests.estimators.examples import Make

RANKS = np.arange(60) % 3
TARGETS = 10.0 * RANKS + np.arange(60) % 7
IMAGES = np.asarray(pictures.draw(RANKS, side=24), dtype=np.uint8)
pytestmark = pytest.mark.usefixtures("few_trees")
SMALL = {
    "encoder": "test_resnet", "embedding_dim": 4, "batch_size": None, "members": 4, "folds": 4, "epochs": 5,
    "fine_tuned": 2, "fine_tuned_side": 16, "linear": False, "trees": False,
}  # fmt: skip
ranks, targets = Make(BlendClassifier, **SMALL), Make(BlendRegressor, **SMALL)
both = pytest.mark.parametrize(("make", "labels"), [(ranks, RANKS), (targets, TARGETS)], ids=["ranks", "targets"])


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "test_resnet.pth"
    torch.save(build_image_encoder("test_resnet", (1, 24, 24), 8).backbone.state_dict(), path)
    return ImageOptions(pretrained=str(path), workers=0)


@pytest.fixture(scope="module")
def fitted(options):
    return {make: make(data=options).fit(IMAGES, y) for make, y in ((ranks, RANKS), (targets, TARGETS))}


@both
def test_a_sample_is_predicted_by_the_network_that_has_not_seen_it(make, labels, options, monkeypatch):
    seen, found = [], []
    train, fit = fine_tuning.FineTuning._train, fine_tuning.FineTuning.fit

    def watched_train(tuning, number, count, pixels, y, weights, rows):
        seen.append(set(rows.tolist()))
        return train(tuning, number, count, pixels, y, weights, rows)

    def watched_fit(tuning, *data):
        found.append(fit(tuning, *data))
        return found[0]

    monkeypatch.setattr(fine_tuning.FineTuning, "_train", watched_train)
    monkeypatch.setattr(fine_tuning.FineTuning, "fit", watched_fit)
    model = make(data=options).fit(IMAGES, labels)
    first, second = (set(range(60)) - each for each in seen)
    assert min(len(first), len(second)) >= 11
    assert first.isdisjoint(second)
    assert set(np.flatnonzero(np.isfinite(found[0].unseen).all(1))) == first | second
    embeddings = model.fitted.embed(model.fitted.read(IMAGES))[:, -129:-1]
    for place, rows in enumerate(map(sorted, (first, second))):
        own, layer = embeddings[rows, 64 * place : 64 * (place + 1)], found[0].layer
        outputs = own @ layer.weight[place].double() + layer.bias[place].double()
        expected = outputs.softmax(1) if make is ranks else outputs
        np.testing.assert_allclose(found[0].unseen[rows], expected.detach().numpy(), rtol=1e-2, atol=1e-2)


@both
def test_the_blend_is_the_mean_of_its_parts_by_their_shares(make, labels, options, fitted):
    model = fitted[make]
    shares, head = model.shares_, model.fitted.predictor
    assert sum(shares.values()) == pytest.approx(1)
    assert "fine_tuned" in shares
    embeddings = model.fitted.embed(model.fitted.read(IMAGES))
    parts = head.standardised(embeddings)
    network = model.encoder_.fine_tuned
    own = network(torch.from_numpy(IMAGES)).double()
    torch.testing.assert_close(embeddings[:, -own.shape[1] - 1 : -1], own, rtol=1e-4, atol=1e-4)
    outputs = [
        own[:, 64 * place :][:, :64] @ head.fine_tuned.weight[place] + head.fine_tuned.bias[place] for place in range(2)
    ]
    expected = torch.stack(outputs if head.num_classes is None else [each.softmax(1) for each in outputs]).mean(0)
    torch.testing.assert_close(parts["fine_tuned"], expected, rtol=1e-4, atol=1e-4)
    blended = sum(share * parts[name] for name, share in shares.items())
    if head.num_classes is None:
        blended = blended * head.target_scale + head.target_mean
    torch.testing.assert_close(head(embeddings), blended, rtol=1e-6, atol=1e-6)


@both
def test_it_is_the_same_when_trained_again_saved_or_exported(make, labels, options, fitted, tmp_path):
    model = fitted[make]
    again = make(data=options).fit(IMAGES, labels)
    np.testing.assert_array_equal(again.transform(IMAGES), model.transform(IMAGES))
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(IMAGES), model.transform(IMAGES))
    np.testing.assert_array_equal(loaded.predict(IMAGES), model.predict(IMAGES))
    assert loaded.shares_ == model.shares_
    exported = export_model(model.fitted, tmp_path / "model.onnx")
    assert max(exported.differences.values()) < 1e-3


def test_losses_and_errors_are_of_images_that_no_part_has_seen(fitted):
    model = fitted[ranks]
    errors = model.unseen_errors_
    known = np.isfinite(errors["blend"])
    assert 20 <= known.sum() <= 28
    for name, each in errors.items():
        np.testing.assert_array_equal(np.isfinite(each), known, err_msg=name)
    assert set(model.unseen_losses_) == {"members", "fine_tuned", "blend"}
    assert model.unseen_losses_["blend"] <= model.unseen_losses_["fine_tuned"] + 1e-9


def test_without_networks_it_is_the_blend_of_features(options):
    model = ranks(data=options, fine_tuned=0).fit(IMAGES, RANKS)
    assert "fine_tuned" not in model.unseen_losses_
    assert model.encoder_.fine_tuned is None
    assert np.isfinite(model.unseen_errors_["blend"]).all()


@pytest.mark.parametrize("given", [{"training": Training(train_encoder="none")}, {"frozen": True}], ids=str)
def test_a_network_that_is_to_stay_as_it_is_is_not_fine_tuned(given, options, monkeypatch):
    monkeypatch.setattr(fine_tuning.FineTuning, "fit", lambda *_: pytest.fail("fine-tuned a network"))
    data = replace(options, frozen=given.get("frozen", False))
    ranks(data=data, **{name: value for name, value in given.items() if name == "training"}).fit(IMAGES, RANKS)


def test_a_table_has_no_networks(monkeypatch):
    monkeypatch.setattr(fine_tuning.FineTuning, "fit", lambda *_: pytest.fail("fine-tuned a network"))
    ranks(encoder="auto").fit(IMAGES.reshape(60, -1)[:, ::40].astype(float), RANKS)


@pytest.mark.parametrize("killed", [1, 2])
def test_a_fit_that_is_killed_while_it_fine_tunes_ends_the_same(killed, options, fitted, monkeypatch, tmp_path):
    make = ranks(data=options, training=Training(checkpoint_dir=str(tmp_path / "run")))
    steps = []
    original = StagedMethod.training_step

    def stop(method, *batch):
        steps.append(method)
        if len({id(each) for each in steps}) == killed and len([each for each in steps if each is method]) == 2:
            raise KeyboardInterrupt
        return original(method, *batch)

    with monkeypatch.context() as patch:
        patch.setattr(StagedMethod, "training_step", stop)
        with pytest.raises(KeyboardInterrupt):
            make.fit(IMAGES, RANKS)
    trained = []
    monkeypatch.setattr(
        StagedMethod, "training_step", lambda method, *batch: trained.append(id(method)) or original(method, *batch)
    )
    resumed = make.fit(IMAGES, RANKS)
    np.testing.assert_array_equal(resumed.transform(IMAGES), fitted[ranks].transform(IMAGES))
    assert len(set(trained)) == 4 - killed  # What was finished is not trained again; the last are the members.


def test_images_that_stream_are_trained_on_the_same(options, fitted, tmp_path):
    pictures.write(tmp_path, IMAGES, [f"{place:02}.png" for place in range(60)])
    paths = [str(tmp_path / f"{place:02}.png") for place in range(60)]
    found = [ranks(data=replace(options, stream=flag)).fit(paths, RANKS).transform(paths) for flag in (True, False)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-4)


def test_a_limit_leaves_a_quarter_of_the_time_to_the_other_parts(options, monkeypatch):
    ends = []
    original = fine_tuning.train
    monkeypatch.setattr(
        fine_tuning, "train", lambda *args, **named: ends.append(fine_tuning.training_end()) or original(*args, **named)
    )
    budget = TimeBudget(1000, clock=lambda: 100.0, start=0.0)
    with training_until(TrainingEnd(budget, 900.0)):
        ranks(data=options).fit(IMAGES, RANKS)
    assert [end.until for end in ends] == [100 + 800 * 0.75 / 2, 100 + 800 * 0.75]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fine_tuned": 6}, "fine_tuned: got 6, expected at most 5"), ({"fine_tuned": -1}, "fine_tuned: got -1"),
        ({"fine_tuned": True}, "fine_tuned: got True"), ({"fine_tuned_side": 4}, "fine_tuned_side: got 4"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_an_error(given, message, options):
    with pytest.raises(OrdinateError, match=message):
        ranks(data=options, **given).fit(IMAGES, RANKS)


def test_a_target_is_learned_by_the_squared_error():
    torch.manual_seed(0)
    network = TargetNetwork(torch.nn.Linear(3, 4), 4, 1, Optimization())
    x, y, weights = torch.randn(5, 3), torch.randn(5, 1), torch.rand(5)
    errors = (network.head(network.encoder(x)) - y)[:, 0] ** 2
    assert network.batch_loss(x, y).item() == pytest.approx(errors.mean().item())
    expected = (weights * errors).sum() / weights.sum()
    assert network.batch_loss(x, y, weights).item() == pytest.approx(expected.item())


@pytest.mark.parametrize(("samples", "epochs"), [(10, 30), (330, 23), (480, 16), (960, 8), (100_000, 8)])
def test_few_images_have_more_epochs(samples, epochs):
    assert epochs_of_fine_tuning(samples) == epochs


@both
def test_it_is_compared_with_its_networks_alone(make, labels, fitted):
    model = deepcopy(fitted[make])
    model.fitted.predictor.shares = {"members": 0.5, "fine_tuned": 0.5}
    found = {each.name: each for each in score_all(gather(Predictions.of(model.fitted, IMAGES, labels)))}
    network = found["its fine-tuned networks alone"]
    parts = model.fitted.predictor.standardised(model.fitted.embed(model.fitted.read(IMAGES)))
    expected = parts["fine_tuned"].detach().numpy()
    if make is ranks:
        np.testing.assert_array_equal(network.predicted, model.fitted.decide(expected))
    else:
        head = model.fitted.predictor
        decoded = model.fitted.labels.decode(expected * head.target_scale.numpy() + head.target_mean.numpy())
        np.testing.assert_allclose(network.predicted, decoded, rtol=1e-6)


def test_tracing_leaves_nothing_behind_in_how_images_are_scaled():
    """An export before the first prediction left weights without numbers for all that followed."""
    images = torch.arange(63.0).reshape(1, 1, 9, 7)
    with FakeTensorMode():
        scaled(torch.zeros(1, 1, 9, 7), (4, 5))
    assert scaled(images, (4, 5)).isfinite().all()
    assert type(scaled(images, (4, 5))) is torch.Tensor
