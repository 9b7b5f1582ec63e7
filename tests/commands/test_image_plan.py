"""What is planned for images, on steps of known length."""

from dataclasses import replace

import pytest

from ordinate.commands.fit import image_plan
from ordinate.commands.fit.image_plan import Wanted, plan_images
from ordinate.commands.fit.plan import filled_in, wanted_of_images
from ordinate.commands.fit_options import FitOptions
from ordinate.data.images.options import ImageOptions

OPTIONS = FitOptions("pictures", target="grade")
WANTED = Wanted()
PHOTOGRAPHS, DIGITS = (168, 224), (32, 32)


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """One on which a pixel of a training step takes a microsecond, a quarter of it in an embedding."""
    measured = []

    def measure(network, size, channels, *, gpu):
        measured.append((network.name, size))
        pixels = size[0] * size[1] * {"resnet18": 30, "resnet10t": 3}.get(network.name, 1)
        return image_plan._Step(measure.slow * pixels * 1e-6, measure.slow * pixels * 0.25e-6, 1600.0 * pixels)

    measure.slow = 1.0
    measure.measured = measured
    monkeypatch.setattr(image_plan, "_measure", measure)
    monkeypatch.setattr(image_plan, "find_spec", lambda name: object())
    monkeypatch.setattr(image_plan, "available_memory", lambda: None)
    return measure


def plan(size, samples, wanted=WANTED, seconds=None, candidates=(2, 1), *, fixed_size=False, own=None):
    own = None if fixed_size else own or size
    return plan_images(size, 3, samples, wanted, seconds=seconds, candidates=candidates, own=own)


@pytest.mark.parametrize("slow", [0.1, 1, 3])
@pytest.mark.parametrize("samples", [50, 400, 2000])
@pytest.mark.parametrize("own", [PHOTOGRAPHS, (96, 144), DIGITS])
def test_up_to_2000_images_are_planned_for_less_than_ten_minutes(own, samples, slow, machine):
    machine.slow = slow
    chosen = plan(own, samples)
    assert chosen.seconds <= 480
    assert chosen.epochs >= 1


def test_more_images_have_more_time():
    assert 480 < plan(PHOTOGRAPHS, 8000, Wanted(encoder="resnet50")).seconds <= 4 * 480


@pytest.mark.parametrize("seconds", [20, 40, 150, 800])
@pytest.mark.parametrize("own", [PHOTOGRAPHS, DIGITS])
def test_what_is_planned_fits_the_time(own, seconds, machine):
    for slow in (0.3, 1, 3):
        machine.slow = slow
        assert plan(own, 400, seconds=seconds).seconds <= seconds


def test_more_time_buys_larger_images_and_more_candidates():
    plans = [plan(PHOTOGRAPHS, 400, seconds=seconds, candidates=(2, 1)) for seconds in (10, 100, 400, 3000, 100_000)]
    assert [each.frozen for each in plans] == [True, False, False, False, False]
    areas = [each.size[0] * each.size[1] for each in plans if not each.frozen]
    assert areas == sorted(areas)
    assert [each.candidates for each in plans][-1] == 2
    assert plans[-1].size == PHOTOGRAPHS


def test_without_time_to_train_the_network_it_is_frozen():
    chosen = plan(PHOTOGRAPHS, 400, seconds=12)
    assert (chosen.network, chosen.pretrained, chosen.frozen) == ("efficientnet_lite0", True, True)
    assert filled_in(OPTIONS, chosen).set == ["data.frozen=true"]


def test_without_weights_at_hand_a_network_is_trained_from_scratch(monkeypatch):
    monkeypatch.setattr(image_plan, "find_spec", lambda name: None)
    chosen = plan(PHOTOGRAPHS, 400, seconds=30)
    assert (chosen.network, chosen.pretrained, chosen.frozen) == ("resnet18", False, False)


def test_small_images_have_a_small_network_unless_there_is_time():
    assert plan(DIGITS, 720).network == "resnet10t"
    assert plan(DIGITS, 720, seconds=10_000).network == "resnet18"


def test_what_is_given_is_kept():
    chosen = plan((100, 100), 400, Wanted(encoder="resnet50", epochs=200, fixed_size=True))
    filled = filled_in(replace(OPTIONS, encoder="resnet50", epochs=200, image_size="100x100"), chosen)
    assert (filled.encoder, filled.epochs, filled.image_size) == ("resnet50", 200, "100x100")
    assert filled.set == []
    assert chosen.seconds == pytest.approx(1.3 * 400 * 0.01 * (200 + 2 * 0.25))


def test_epochs_that_are_set_are_not_those_of_the_plan():
    options = replace(OPTIONS, set=["epochs=(3, 1)"])
    assert filled_in(options, plan(PHOTOGRAPHS, 400)).epochs is None


def test_an_array_keeps_its_size():
    assert plan(PHOTOGRAPHS, 400, seconds=15, fixed_size=True).size == PHOTOGRAPHS


def test_the_size_that_is_chosen_is_measured(machine):
    chosen = plan(PHOTOGRAPHS, 400, seconds=100)
    assert (chosen.network, chosen.size) in machine.measured
    assert len(machine.measured) <= 3


@pytest.mark.parametrize("own", [(300, 20), (1, 500), (5, 5)])
def test_sizes_keep_the_form_of_the_images(own):
    height, width = plan(own, 100, seconds=5).size
    assert height >= 1
    assert width >= 1
    assert height * own[1] == pytest.approx(width * own[0], abs=max(own))


def test_a_network_that_takes_the_images_own_size_is_not_refused_for_a_smaller_one():
    given = Wanted(encoder="test_vit")  # Its patches of 16 x 16 pixels do not divide 30 x 96.
    assert min(plan((64, 208), 100, given, seconds=1).size) > 30


@pytest.mark.parametrize("slow", [0.3, 1, 5])
def test_the_blend_has_the_largest_images_whose_features_fit_their_share_of_the_time(slow, machine):
    machine.slow = slow
    chosen = plan(PHOTOGRAPHS, 400, Wanted(blend="also"), candidates=(1,), own=(1200, 1600))
    assert chosen.seconds <= 480
    height, width = chosen.blend_size
    assert 1.3 * 400 * height * width * slow * 0.25e-6 <= 0.15 * 480
    assert width == (352 if slow == 5 else 448)
    assert (chosen.candidates, chosen.on_all) == (1, slow < 1)
    assert slow == 5 or chosen.size[0] * chosen.size[1] < height * width


@pytest.mark.parametrize(
    "wanted", [WANTED, Wanted(blend="also"), Wanted(encoder="resnet18"), Wanted(batch_size=256, blend="also")]
)
def test_a_training_step_takes_at_most_half_of_the_memory(wanted, machine, monkeypatch):
    areas = []
    if wanted.batch_size > 64:
        assert plan(PHOTOGRAPHS, 400, wanted, seconds=10_000).size == PHOTOGRAPHS
    for available in (2**28, 4 * 2**30, 8 * 2**30, None):
        monkeypatch.setattr(image_plan, "available_memory", lambda: available)  # noqa: B023  # It is called at once.
        chosen = plan(PHOTOGRAPHS, 400, wanted, seconds=10_000)
        areas.append(chosen.size[0] * chosen.size[1])
        per_pixel = 1600 * (30 if chosen.network == "resnet18" else 1)
        smallest = max(chosen.size) == 96
        assert smallest or available is None or 2 * wanted.batch_size * per_pixel * areas[-1] <= available
    assert areas == sorted(areas)
    assert areas[0] < areas[-1]


def test_larger_images_come_before_training_again_on_all():
    """Twice the training runs leave time for images of half the pixels."""
    plans = [plan(PHOTOGRAPHS, 400, Wanted(blend="also"), seconds, (1,)) for seconds in range(100, 2000, 50)]
    areas = [each.size[0] * each.size[1] for each in plans if each.candidates]
    assert areas == sorted(areas)
    assert {each.on_all for each in plans} == {True, False}
    assert plans[-1].on_all
    assert plans[-1].size == PHOTOGRAPHS


def test_without_time_to_train_the_network_the_blend_is_alone():
    chosen = plan(PHOTOGRAPHS, 400, Wanted(blend="also"), seconds=30, candidates=(1,))
    assert (chosen.candidates, chosen.frozen) == (0, False)
    assert chosen.size == chosen.blend_size


@pytest.mark.parametrize(
    ("own", "expected"), [((90, 100), (90, 100)), ((300, 448), (300, 448)), ((600, 900), (299, 448))]
)
def test_images_are_not_enlarged_for_the_blend(own, expected):
    assert plan(own, 100, Wanted(blend="only"), own=own).blend_size == expected


@pytest.mark.parametrize(("own", "expected"), [(DIGITS, (112, 112)), ((28, 56), (56, 112))])
@pytest.mark.parametrize("of_array", [False, True])
def test_small_images_are_enlarged_for_the_blend_alone(own, expected, of_array):
    """Features of RetinaMNIST's 28 x 28 pixels, enlarged, predict better than a network from random weights."""
    chosen = plan_images(
        own, 3, 400, Wanted(blend="also"), seconds=None, candidates=(1,), own=None if of_array else own
    )
    assert (chosen.blend_size, chosen.blend_network) == (expected, "efficientnet_lite0")
    assert (chosen.size, chosen.network, chosen.pretrained) == (own, "resnet10t", False)
    fixed = Wanted(blend="also", fixed_size=True)
    assert plan_images(own, 3, 400, fixed, seconds=None, candidates=(1,), own=own).blend_size == own


def test_a_long_image_is_not_made_smaller():
    assert plan((40, 400), 100, Wanted(blend="also")).blend_size == (40, 400)


def test_there_is_no_blend_without_weights(monkeypatch):
    monkeypatch.setattr(image_plan, "find_spec", lambda name: None)
    assert plan(PHOTOGRAPHS, 400, Wanted(blend="also")).blend_size is None
    assert plan(DIGITS, 400, Wanted(blend="also")).blend_size is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "also"), ({"pretrained": True}, "also"), ({"method": "blend"}, "only"), ({"method": "cloc"}, "no"),
        ({"epochs": 3}, "no"), ({"encoder": "resnet18"}, "no"), ({"image_size": "64x64"}, "no"),
        ({"stream": True}, "no"),
        ({"set": ["data.augmentation=gaze"]}, "no"), ({"margin": ["1,2=0.5"]}, "no"),
        ({"set": ["training.accelerator=cpu"]}, "also"), ({"set": ["data.pretrained=false"]}, "no"),
    ],
    ids=str,
)  # fmt: skip
def test_the_blend_is_a_candidate_if_nothing_is_said_of_the_training(given, expected):
    options = replace(OPTIONS, **given)
    assert wanted_of_images(options).blend == expected


@pytest.mark.parametrize("given", [{"options": ImageOptions(augmentation="supcr")}, {"needs_views": True}], ids=str)
def test_what_needs_views_is_not_frozen(given):
    assert plan(PHOTOGRAPHS, 500, seconds=20).frozen
    assert not plan(PHOTOGRAPHS, 500, Wanted(**given), seconds=20).frozen


def test_more_trials_are_planned_for():
    """Two methods in five folds are nine trainings, of which each trial sees four fifths of the images, not three."""
    fixed = {"candidates": (2,), "fixed_size": True, "seconds": 1e6}
    once, folds = (plan(PHOTOGRAPHS, 500, Wanted(epochs=10, folds=count), **fixed) for count in (1, 5))
    assert (folds.seconds - folds.after) / (once.seconds - once.after) == pytest.approx((2 * 4 + 1) / (2 * 0.8 + 1))


def test_mirror_images_are_planned_for():
    fixed = {"fixed_size": True, "seconds": 1e6}
    once, twice = (plan(PHOTOGRAPHS, 500, Wanted(epochs=10, mirror=flag), **fixed) for flag in (False, True))
    assert twice.after == pytest.approx(2 * once.after)
    assert twice.seconds - twice.after == pytest.approx(once.seconds - once.after)


@pytest.mark.parametrize(
    ("own", "seconds", "given", "mirrors"),
    [
        (PHOTOGRAPHS, None, {}, True),
        (PHOTOGRAPHS, None, {"options": ImageOptions(augmentation="auto")}, True),
        (PHOTOGRAPHS, None, {"mirror": False}, False),
        (PHOTOGRAPHS, None, {"options": ImageOptions(augmentation="gaze")}, False),
        (PHOTOGRAPHS, None, {"options": ImageOptions(augmentation="gaze"), "mirror": True}, True),
        (PHOTOGRAPHS, 12, {}, False),  # frozen
        (PHOTOGRAPHS, None, {"train_encoder": "none"}, False),
        (DIGITS, None, {}, False),
    ],
)
def test_networks_from_weights_that_train_on_mirror_images_predict_from_them(own, seconds, given, mirrors):
    chosen = plan(own, 500, Wanted(**given), seconds=seconds)
    assert chosen.mirror is mirrors
    assert ("data.mirror=true" in filled_in(OPTIONS, chosen).set) is mirrors


@pytest.mark.parametrize("slow", [1, 3])
def test_with_validation_samples_nothing_is_trained_twice(slow, machine):
    machine.slow = slow
    options = {"seconds": None, "candidates": (2, 1), "own": PHOTOGRAPHS}
    open_, divided = (plan_images(PHOTOGRAPHS, 3, 4000, WANTED, validated=known, **options) for known in (False, True))
    before, after = ((plan.size, plan.candidates) for plan in (open_, divided))
    assert after > before or (after == before and divided.seconds < open_.seconds)
