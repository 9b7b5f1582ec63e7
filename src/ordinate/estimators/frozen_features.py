"""Features of images by a network that is not trained, computed once for all runs of a process."""

import hashlib

import torch
from torch import Tensor
from tqdm import tqdm

from ordinate.data.mapped_matrix import mapped_matrix
from ordinate.data.streamed import StreamedPixels, too_large
from ordinate.data.training_batches import ArrayBatches
from ordinate.encoders.pixels import FrozenImageEncoder
from ordinate.estimators.fingerprint import describe
from ordinate.training.loop import loader_in_order

_features_of: dict[bytes, Tensor] = {}


def frozen_features(
    encoder: FrozenImageEncoder,
    data: ArrayBatches,
    options: object,
    device: torch.device,
    *,
    progress: bool = False,
    at_once: int = 32,
    most_kept: int = 100_000,
) -> ArrayBatches:
    """Return the features of images in their place; those that the same network gave before are kept.

    Args:
        encoder: Encoder whose network computes the features.
        data: Images (n, c, h, w) and their labels; features of streamed images are not kept.
        options: Options with which the images were read.
        device: Device to compute on.
        progress: Whether to show a progress bar.
        at_once: Largest number of images that are embedded at once.
        most_kept: Largest number of images whose features are kept.
    """
    frozen = encoder.to(device).eval()
    if isinstance(data.x, StreamedPixels):
        return _streamed_features(frozen, data, device, progress)
    parts = (frozen.backbone, frozen.mean, frozen.std, repr(options), tuple(data.x.shape[1:]))
    network = hashlib.sha256(describe(parts, "encoder").encode()).digest()
    keys = [network + hashlib.sha256(image.numpy().tobytes()).digest() for image in data.x]
    if len(_features_of) + len(keys) > most_kept:
        _features_of.clear()
    new = torch.tensor([row for row, key in enumerate(keys) if key not in _features_of], dtype=torch.long)
    with torch.no_grad(), _bar(len(new), progress) as bar:
        for rows in new.split(at_once):
            found = frozen.features(data.x[rows].to(device)).cpu()
            _features_of.update((keys[row], one.clone()) for row, one in zip(rows.tolist(), found, strict=True))
            bar.update(len(rows))
    encoder.cpu()
    return ArrayBatches(torch.stack([_features_of[key] for key in keys]), data.y, data.weights)


def _streamed_features(
    encoder: FrozenImageEncoder, data: ArrayBatches, device: torch.device, progress: bool
) -> ArrayBatches:
    """Return the features of images that stream, in a file where memory does not hold them, and their labels."""
    features, done = torch.empty(0), 0
    labels: list[list[Tensor]] = []
    with torch.no_grad(), _bar(len(data), progress) as bar:
        for x, *known in loader_in_order(ArrayBatches(data.x, data.y, data.weights)):
            found = encoder.features(x.to(device)).cpu()
            if not labels:
                shape = (len(data), found.shape[1])
                features = torch.from_numpy(mapped_matrix(shape)) if too_large((*shape, 4)) else torch.empty(shape)
            features[done : done + len(found)] = found
            done += len(found)
            labels.append(known)
            bar.update(len(found))
    encoder.cpu()
    return ArrayBatches(features, *map(torch.cat, zip(*labels, strict=True)))


def _bar(images: int, progress: bool) -> tqdm:
    return tqdm(total=images, desc="features", unit="image", dynamic_ncols=True, disable=not progress, leave=False)
