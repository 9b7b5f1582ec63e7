"""Networks of a blend that are fine-tuned on images, each without a fold of them, which it then predicts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.data.images.augmentation import Augmentation
from ordinate.data.images.options import ImageOptions
from ordinate.data.mapped_matrix import mapped_matrix
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.streamed import too_large
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.encoders.fine_tuned import FineTunedNetworks, scaled
from ordinate.encoders.members import MemberLinear
from ordinate.methods.fine_tuned import fine_tuned_network
from ordinate.model.embedding import device_of
from ordinate.randomness import own_random_numbers
from ordinate.training.loop import train
from ordinate.training.optimization import Optimization
from ordinate.training.options import Training
from ordinate.training.time_budget import TrainingEnd, training_end, training_until

FOLDS = 5  # Each network is trained without one of so many.
BATCH_SIZE = 64


def epochs_of_fine_tuning(samples: int, batches: int = 120, least: int = 8, most: int = 30) -> int:
    """Return the epochs of fine-tuning: those of so many batches, but neither too few nor too many."""
    return min(most, max(least, round(batches * BATCH_SIZE / samples)))


@dataclass(frozen=True)
class FineTuned:
    """Networks that were fine-tuned.

    Args:
        encoder: The networks side by side.
        layer: Last layer of each.
        unseen: Predictions (n, o) of the samples that a network has not seen; NaN for the others.
    """

    encoder: FineTunedNetworks
    layer: MemberLinear
    unseen: NDArray[np.float64]


@dataclass(frozen=True)
class FineTuning:
    """How networks are fine-tuned.

    Args:
        new_network: Function that returns a new pretrained encoder with an embedding.
        embedding_dim: Dimension d of the embedding.
        size: Size (height, width) of the images that they see.
        num_classes: C ranks; None for a standardised target.
        options: Options of the images.
        training: Options of training.
        seed: Seed of the fit.
        run: Description of everything that determines the training.
        progress: Whether to show progress bars.
    """

    new_network: Callable[[], nn.Module]
    embedding_dim: int
    size: tuple[int, int]
    num_classes: int | None
    options: ImageOptions
    training: Training
    seed: int
    run: str
    progress: bool

    def fit(self, count: int, images: ArrayBatches, y: Tensor, fold: NDArray[np.int64]) -> FineTuned:
        """Return so many networks, each fitted to ranks or standardised targets without the fold (n,) of its number."""
        pixels = scaled_pixels(images, self.size)
        unseen = np.full((len(y), self.num_classes or 1), np.nan)
        end, trained = training_end(), []
        for number in range(count):
            with training_until(_share(end, count - number)):
                network: Any = self._train(number, count, pixels, y, images.weights, np.flatnonzero(fold != number))
            rows = np.flatnonzero(fold == number)
            unseen[rows] = self._predict(network, pixels[torch.from_numpy(rows)])
            trained.append(network)
        layer = MemberLinear(count, self.embedding_dim, self.num_classes or 1)
        with torch.no_grad():
            for number, network in enumerate(trained):
                layer.weight[number] = network.head.weight.T
                layer.bias[number] = network.head.bias
        return FineTuned(FineTunedNetworks([network.encoder for network in trained], self.size), layer, unseen)

    def _train(
        self, number: int, count: int, pixels: Tensor, y: Tensor, weights: Tensor | None, rows: NDArray[np.int64]
    ) -> nn.Module:
        """Return one network, fitted to some rows."""
        chosen, seed, options = torch.from_numpy(rows), (self.seed + number) % 2**32, self.training
        learning_rate = options.learning_rate or Optimization().learning_rate
        decay = 0.05 if options.weight_decay is None else options.weight_decay
        with own_random_numbers(seed):  # After a kill, earlier networks have drawn none.
            network = fine_tuned_network(
                self.new_network(), self.embedding_dim, self.num_classes, epochs_of_fine_tuning(len(rows)),
                Optimization(learning_rate=learning_rate, weight_decay=decay),
            )  # fmt: skip
        (stage,) = network.stages
        network.stages = (replace(stage, name=f"network {number + 1} of {count}" if count > 1 else "network"),)
        views = ViewBatches(
            pixels[chosen], y[chosen], Augmentation(self.options.augmentation, self.size), 1, self.options.workers,
            None if weights is None else weights[chosen],
        )  # fmt: skip
        train(
            network, views, ShuffledBatches(len(rows), min(BATCH_SIZE, len(rows)), seed), folder=self._folder(number),
            seed=seed, run=f"{self.run}, network {number}", progress=self.progress, accelerator=options.accelerator,
            precision=options.precision, gradient_clip_val=options.gradient_clip_val,
            accumulate_grad_batches=options.accumulate_grad_batches,
        )  # fmt: skip
        return network.float().cpu().eval()

    def _folder(self, number: int) -> Path | None:
        """Return the folder of the checkpoint of a network."""
        if self.training.folder is None:
            return None
        folder = self.training.folder / f"network {number + 1}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _predict(self, network: Any, pixels: Tensor) -> NDArray[np.float64]:
        device = device_of(self.training.accelerator)
        network.to(device)
        with torch.no_grad():
            outputs = torch.cat([network.head(network.encoder(part.to(device))).cpu() for part in pixels.split(64)])
        network.cpu()
        found: NDArray[np.float64] = (outputs if self.num_classes is None else outputs.softmax(1)).double().numpy()
        return found


def _share(end: TrainingEnd | None, networks: int, left_to_members: float = 0.25) -> TrainingEnd | None:
    """Return the end of the next of so many networks, after which the members and the trees follow."""
    if end is None:
        return None
    now = end.now
    return replace(end, until=now + max(0.0, end.until - now) * (1 - left_to_members) / networks)


def scaled_pixels(images: ArrayBatches, size: tuple[int, int]) -> Tensor:
    """Return all images (n, c, height, width) in a smaller size, uint8; in a file where memory does not hold them."""
    shape = (*images.x.shape[:2], *size)
    pixels = torch.from_numpy(mapped_matrix(shape, dtype=np.uint8) if too_large(shape) else np.empty(shape, np.uint8))
    done = 0
    for part in images.x.split(64):
        pixels[done : done + len(part)] = scaled(part, size).round().to(torch.uint8)
        done += len(part)
    return pixels
