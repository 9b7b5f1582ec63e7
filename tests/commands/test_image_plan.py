"""What is planned for images, by their number and size, the cores and the time."""

from dataclasses import replace

import numpy as np
import pytest

from ordinate.commands.fit import image_plan, plan
from ordinate.commands.fit.image_plan import TIERS, Wanted, plan_images
from ordinate.commands.fit.plan import filled_in, wanted_of_images
from ordinate.commands.fit.time_limit import RunLimit
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.labels import Label
from ordinate.training.time_budget import TimeBudget

OPTIONS = FitOptions("pictures", target="grade")
PHOTOGRAPHS, DIGITS = (336, 448), (32, 32)
LARGE, MIDDLE, SMALL = TIERS
METHOD = Wanted(blend=False)


@pytest.fixture(autouse=True)
def weights(monkeypatch):
    monkeypatch.setattr(image_plan, "find_spec", lambda name: object())


DEFAULT = Wanted()


def planned(own, samples, wanted=DEFAULT, seconds=None, cores=2, **options):
    size = tuple(side * 224 // max(own) for side in own) if max(own) > 256 else own
    return plan_images(size, samples, wanted, own=own, seconds=seconds, cores=cores, **options)


@pytest.mark.parametrize("samples", [50, 400, 1000])
@pytest.mark.parametrize("own", [PHOTOGRAPHS, (96, 144), DIGITS])
@pytest.mark.parametrize("wanted", [Wanted(), METHOD])
def test_up_to_a_thousand_images_are_planned_for_about_five_minutes(own, samples, wanted):
    assert planned(own, samples, wanted).seconds <= 300 + 15


def test_more_images_have_more_time():
    assert 300 < planned(PHOTOGRAPHS, 20_000).seconds <= 20 * 300 + 15


@pytest.mark.parametrize(
    ("samples", "seconds", "cores", "tier"),
    [
        (400, None, 2, MIDDLE),
        (400, None, 16, LARGE),
        (400, 3600, 2, LARGE),
        (400, 20, 2, SMALL),
        (50_000, 60, 2, SMALL),
    ],
)
def test_cores_and_time_buy_a_tier(samples, seconds, cores, tier):
    found = planned(PHOTOGRAPHS, samples, seconds=seconds, cores=cores)
    assert (max(found.size), found.fine_tuned, found.side) == tier


def test_a_number_of_networks_that_is_given_is_kept():
    found = planned(PHOTOGRAPHS, 400, Wanted(fine_tuned=0))
    assert (found.fine_tuned, max(found.size)) == (0, LARGE.features)
    given = planned(PHOTOGRAPHS, 400, Wanted(fine_tuned=2, side=96), seconds=20)
    assert (given.fine_tuned, given.side) == (2, 96)
    wanted = wanted_of_images(
        replace(OPTIONS, set=["fine_tuned=2", "fine_tuned_side=96"]), Label(np.arange(3), [0, 1, 2])
    )
    assert (wanted.blend, wanted.fine_tuned, wanted.side) == (True, 2, 96)


def test_a_gpu_buys_the_largest_tier():
    assert planned(PHOTOGRAPHS, 5000, gpu=True, cores=1).fine_tuned == LARGE.fine_tuned


@pytest.mark.parametrize("own", [(1000, 1500), (300, 200), (100, 100), (60, 300)])
@pytest.mark.parametrize("wanted", [Wanted(), METHOD])
def test_sizes_keep_the_form_of_the_images_and_are_not_above_it(own, wanted):
    found = planned(own, 500, wanted)
    assert found.size[0] / found.size[1] == pytest.approx(own[0] / own[1], rel=0.02)
    assert max(found.size) <= max(*own, 112)


@pytest.mark.parametrize(("own", "expected"), [(DIGITS, (112, 112)), ((28, 56), (56, 112)), ((60, 200), (60, 200))])
def test_small_images_are_enlarged_for_the_blend_alone(own, expected):
    assert planned(own, 500).size == expected
    assert planned(own, 500, METHOD).size == own


def test_a_method_has_a_pretrained_network_for_photographs_and_a_small_one_for_small_images():
    assert (planned(PHOTOGRAPHS, 500, METHOD).network, planned(PHOTOGRAPHS, 500, METHOD).pretrained) == (
        "efficientnet_lite0",
        True,
    )
    assert (planned(DIGITS, 500, METHOD).network, planned(DIGITS, 500, METHOD).pretrained) == ("resnet10t", False)


def test_without_weights_at_hand_a_network_is_trained_from_scratch(monkeypatch):
    monkeypatch.setattr(image_plan, "find_spec", lambda name: None)
    found = planned(PHOTOGRAPHS, 500, METHOD)
    assert (found.network, found.pretrained, found.frozen) == ("resnet18", False, False)


@pytest.mark.parametrize(("given", "frozen"), [({}, True), ({"may_freeze": False}, False)])
def test_without_time_to_train_the_network_a_method_keeps_its_weights(given, frozen):
    assert planned(PHOTOGRAPHS, 500, replace(METHOD, **given), seconds=20).frozen is frozen
    assert not planned(PHOTOGRAPHS, 500, replace(METHOD, **given)).frozen


def test_what_is_given_is_kept():
    wanted = replace(METHOD, encoder="resnet34", fixed_size=True, epochs=7)
    found = plan_images((50, 60), 500, wanted, own=PHOTOGRAPHS, cores=2)
    assert (found.network, found.size, found.epochs) == ("resnet34", (50, 60), 7)
    assert plan_images((50, 60), 500, Wanted(fixed_size=True), own=PHOTOGRAPHS, cores=2).size == (50, 60)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, True), ({"pretrained": True}, True), ({"method": "blend"}, True), ({"method": "cloc"}, False),
        ({"epochs": 3}, False), ({"encoder": "resnet18"}, False), ({"image_size": "64x64"}, True),
        ({"stream": True}, True), ({"set": ["data.augmentation=gaze"]}, False), ({"margin": ["1,2=0.5"]}, False),
        ({"set": ["training.accelerator=cpu"]}, True), ({"set": ["data.pretrained=false"]}, False),
    ],
    ids=str,
)  # fmt: skip
def test_the_blend_is_trained_if_nothing_is_said_of_the_training(given, expected, monkeypatch):
    options = replace(OPTIONS, **given)
    assert wanted_of_images(options, Label(np.arange(3), [0, 1, 2])).blend is expected


def test_the_blend_is_for_one_target_and_for_weights_at_hand(monkeypatch):
    assert not wanted_of_images(OPTIONS, Label(np.ones((3, 2)), None)).blend
    monkeypatch.setattr(plan, "has_weights", lambda: False)
    assert not wanted_of_images(OPTIONS, Label(np.arange(3), [0, 1, 2])).blend


@pytest.mark.parametrize(
    "given",
    [
        {"set": ["training.train_encoder=2"]},
        {"set": ["data.augmentation=supcr"]},
        {"epochs": 3},
        {"encoder": "resnet18"},
        {"method": "simclr"},
    ],
    ids=str,
)
def test_what_is_said_of_the_training_leaves_the_network_to_it(given):
    options = replace(OPTIONS, **{"method": "cloc", **given})
    assert not wanted_of_images(options, Label(np.arange(3), [0, 1, 2])).may_freeze


@pytest.mark.parametrize(
    ("own", "seconds", "given", "mirrors"),
    [
        (PHOTOGRAPHS, None, [], True), (PHOTOGRAPHS, None, ["data.mirror=false"], False),
        (PHOTOGRAPHS, None, ["data.augmentation=gaze"], False), (PHOTOGRAPHS, 12, [], False),
        (PHOTOGRAPHS, None, ["training.train_encoder=none"], False), (DIGITS, None, [], False),
    ],
)  # fmt: skip
def test_methods_from_weights_that_train_on_mirror_images_predict_from_them(own, seconds, given, mirrors):
    options = replace(OPTIONS, method="cloc", set=given)
    chosen = planned(own, 500, wanted_of_images(options, Label(np.arange(3), [0, 1, 2])), seconds=seconds)
    assert chosen.mirror is mirrors
    assert ("data.mirror=true" in filled_in(options, chosen).set) is mirrors


@pytest.mark.parametrize(
    ("given", "pretrained"),
    [
        ({}, True), ({"encoder": "resnet18"}, False), ({"encoder": "resnet18", "pretrained": True}, True),
        ({"set": ["data.pretrained=false"]}, False), ({"set": ["data.pretrained=weights.pth"]}, True),
    ],
    ids=str,
)  # fmt: skip
def test_a_network_that_is_given_has_the_weights_that_are_asked_for(given, pretrained):
    options = replace(OPTIONS, method="cloc", **given)
    chosen = planned(PHOTOGRAPHS, 500, wanted_of_images(options, Label(np.arange(3), [0, 1, 2])))
    assert chosen.pretrained is pretrained
    assert filled_in(options, chosen).encoder == given.get(
        "encoder", "efficientnet_lite0" if pretrained else "resnet18"
    )


def test_the_plan_of_a_blend_is_typed_as_its_settings():
    filled = filled_in(OPTIONS, planned(PHOTOGRAPHS, 400, seconds=3600))
    assert (filled.method, filled.encoder, filled.image_size, filled.pretrained) == (
        "blend", "efficientnet_lite0", "336x448", True,
    )  # fmt: skip
    assert filled.set == ["fine_tuned=3", "fine_tuned_side=160"]
    given = replace(OPTIONS, set=["fine_tuned=0"])
    assert filled_in(given, planned(PHOTOGRAPHS, 400, Wanted(fine_tuned=0))).set == ["fine_tuned=0"]


@pytest.mark.parametrize(
    ("own", "wanted", "seconds", "expected"),
    [
        (PHOTOGRAPHS, Wanted(), None, "the blend on features of efficientnet_lite0 with ImageNet weights at 336 x 448 "
         "pixels and 1 network fine-tuned at 96 x 128; usually done in about"),
        (PHOTOGRAPHS, Wanted(), 20, "at 168 x 224 pixels (reduced from 336 x 448); usually"),
        (DIGITS, METHOD, None, "cloc with resnet10t at 32 x 32 pixels, 48 epochs; usually"),
        (PHOTOGRAPHS, METHOD, 20, "with efficientnet_lite0 with ImageNet weights that stay as they are at 168 x 224"),
    ],
)  # fmt: skip
def test_the_plan_is_told(own, wanted, seconds, expected):
    said = planned(own, 400, wanted, seconds).announcement("cloc", RunLimit(None))
    assert expected in said[0]


def test_a_plan_says_what_to_do_for_more_or_less_time():
    assert planned(PHOTOGRAPHS, 400).announcement("blend", RunLimit(None))[1:] == ["for lower errors: --time-limit 60"]
    long = planned(PHOTOGRAPHS, 20_000).announcement("blend", RunLimit(None))
    assert long[1:] == ["note: --time-limit 10 keeps to ten minutes"]
    late = RunLimit(TimeBudget(60, clock=lambda: 50.0, start=0.0))
    assert "may exceed the time limit" in planned(PHOTOGRAPHS, 400, seconds=26).announcement("blend", late)[1]


@pytest.mark.parametrize("given", ["data.frozen=true", "training.train_encoder=none"])
def test_a_network_that_is_to_stay_as_it_is_is_not_fine_tuned(given):
    options = replace(OPTIONS, method="blend", pretrained=True, set=[given])
    found = planned(PHOTOGRAPHS, 400, wanted_of_images(options, Label(np.arange(3), [0, 1, 2])))
    assert found.fine_tuned == 0
    assert len(found.announcement("blend", RunLimit(None))) == 1  # A longer limit would change nothing.
