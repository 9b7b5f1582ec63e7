"""Which parts of an image a model predicts from: the change of its prediction when a part is hidden."""

import numpy as np
from jaxtyping import Float, UInt8
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from ordinate.checks import check_whole
from ordinate.counts import counted
from ordinate.data.images.reader import ImageReader
from ordinate.errors import OrdinateError
from ordinate.model.model import Model


def occlusion_maps(model: Model, images: UInt8[Tensor, "n c h w"]) -> Float[np.ndarray, "n h w"]:
    """Return the :func:`occlusion_map` of each image; a terminal shows after two seconds how many are done."""
    bar = tqdm(images, desc="explaining", unit="image", delay=2.0, disable=None, leave=False)
    return np.stack([occlusion_map(model, image) for image in bar])


def occlusion_map(model: Model, image: UInt8[Tensor, "c h w"], *, patches: int = 8) -> Float[np.ndarray, "h w"]:
    """Occlusion map of an image (Zeiler and Fergus, 2014), of the expected rank or of the predicted target.

    A patch slides over the image in steps of half its side, and takes the mean colour of what it hides: a part of one
    colour stays as it is, where a patch of a fixed colour would be something new. A part of which only a strip is
    background takes the colour of both.

    Args:
        model: Fitted model of images.
        image: Pixels as the encoder takes them, one sample of ``model.read(X)``.
        patches: Number of patches that fit into a side of the image, >= 1.

    Returns:
        By how much each pixel raises the prediction: the prediction of the image minus that of the image without the
        pixel, on average over the patches that hide it. In ranks, or in units of the target.

    Raises:
        OrdinateError: The model reads no images, or predicts several targets.

    Example:
        >>> from ordinate import CLOCClassifier
        >>> X = np.zeros((40, 1, 16, 16), dtype=np.uint8)
        >>> X[20:, :, :4] = 255  # Images of the higher rank have a bright upper edge.
        >>> model = CLOCClassifier(epochs=(2, 2), random_state=0).fit(X, np.arange(40) // 20).fitted
        >>> occlusion_map(model, model.read(X)[0]).shape
        (16, 16)
    """
    check_whole(patches, "patches")
    reader = model.reader
    if not isinstance(reader, ImageReader):
        raise OrdinateError("model", f"a model of {reader.kind}", "a model of images")
    height, width = (-(-side // patches) for side in image.shape[1:])
    lefts = _starts(image.shape[2], width)
    whole = expected_label(model, image[None])
    changes, counts = np.zeros(image.shape[1:]), np.zeros(image.shape[1:])
    for top in _starts(image.shape[1], height):
        hidden = image.repeat(len(lefts), 1, 1, 1)
        for place, left in enumerate(lefts):
            pixels = hidden[place, :, top : top + height, left : left + width]
            pixels[:] = pixels.double().mean((1, 2), keepdim=True).round()
        for left, change in zip(lefts, whole - expected_label(model, hidden), strict=True):
            part = np.s_[top : top + height, left : left + width]
            changes[part] += change
            counts[part] += 1
    return changes / counts


def expected_label(model: Model, x: Tensor) -> NDArray[np.float64]:
    """Return the expected ranks (n,), from 0 to C-1, or the predicted targets of samples that were read."""
    predicted = model.predicted(model.embed(x))
    if model.is_of_ranks:
        return np.asarray(predicted @ np.arange(predicted.shape[1]))
    if predicted.ndim > 1:
        raise OrdinateError("model", counted(predicted.shape[1], "target"), "a model of ranks or of one target")
    return predicted


def _starts(length: int, patch: int) -> list[int]:
    """Return where patches begin along a side: half a patch apart, the last one at the end."""
    return [*range(0, length - patch, max(1, patch // 2)), length - patch]
