"""From images to the batch of an encoder, the same in training and in prediction."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.data.decoded import DecodedSamples, PixelReader
from ordinate.data.findings import Finding, most_rows, report_findings
from ordinate.data.images.augmentation import Augmentation
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import (
    Decoded,
    ImagePreprocessing,
    Images,
    choose_preprocessing,
    decode,
    note_on_shapes,
    sizes_of,
)
from ordinate.data.saved_fields import JsonObject
from ordinate.data.streamed import StreamedPixels
from ordinate.data.views import Views
from ordinate.encoders.build import build_encoder
from ordinate.encoders.given import Encoder, describe_encoder, is_named
from ordinate.encoders.pixels import ImageEncoder
from ordinate.errors import OrdinateError


class ImageReader(PixelReader):
    """Bring every image to one size and number of channels, see :class:`~ordinate.data.decoded.PixelReader`."""

    kind = "images"
    preprocessing_class = ImagePreprocessing
    files_class = ImageFiles
    decoded_class = Decoded
    decode_all = staticmethod(decode)
    preprocessing: ImagePreprocessing
    saw_colours = False  # Whether no image of training was grey.
    export_note: ClassVar[str] = (
        "samples holds pixels 0 to 255: each image as grey (reader.channels 1) or RGB (3), turned as its EXIF tag "
        "says, transparency over black; more than 8 bits scaled so that reader.intensity, if given, becomes 0 and "
        "255; the central reader.crop (height, width) of it, if given; its histogram equalised, if reader.equalize; "
        "resized to reader.size (height, width), bilinear with antialiasing. The graph normalises them."
    )

    @staticmethod
    def choose(samples: Images, options: ImageOptions) -> tuple[ImagePreprocessing, list[str]]:
        chosen = choose_preprocessing(
            samples, options.resize or options.size, options.channels, options.crop, options.equalize,
            options.max_pixels,
        )  # fmt: skip
        notes = []
        if chosen.intensity is not None:
            low, high = chosen.intensity
            notes.append(f"images of more than 8 bits: values from {low:g} to {high:g} become 0 to 255")
        if options.crop is None and isinstance(samples, ImageFiles):
            notes += filter(None, [note_on_shapes(sizes_of(samples, options.max_pixels), chosen.size)])
        return chosen, notes

    @classmethod
    def fit(cls, samples: Any, options: Any, *, progress: bool = False) -> tuple[Self, DecodedSamples]:
        reader, decoded = super().fit(samples, options, progress=progress)
        if options.augmentation in ("auto", "flip") and (options.mirror or not options.frozen):
            said = "training images are also mirrored; for labels that tell left from right"
            reader.notes.append(f"{said}: augmentation='none' of the options of images")
        if not isinstance(decoded.pixels, StreamedPixels) and decoded.pixels.shape[1] == 3:
            reader.saw_colours = not _are_grey(decoded.pixels).any()
        return reader, decoded

    def new_encoder(
        self, name: Encoder, embedding_dim: int | None, options: ImageOptions, *, for_saved_weights: bool, **task: Any
    ) -> nn.Module:
        if not is_named(name) and options.pretrained:
            expected = f"False for {describe_encoder(name)}, which brings its weights"
            raise OrdinateError("pretrained", repr(options.pretrained), expected)
        if not options.pretrained:
            encoder = super().new_encoder(name, embedding_dim, options, for_saved_weights=for_saved_weights)
        else:  # Its normalisation is that of the pretrained weights; saved weights bring it along.
            weights: dict[str, Any] = {"pretrained": options.pretrained}
            if for_saved_weights:
                weights = {"small_stem": False}
            encoder = build_encoder(name, self.sample_shape, embedding_dim, frozen=options.frozen, **weights, **task)
        if isinstance(encoder, ImageEncoder):
            encoder.mirror = bool(options.mirror)
            if options.resize is not None:
                encoder.seen = self._seen(options)
        return encoder

    def _seen(self, options: ImageOptions) -> tuple[int, int]:
        """Return the size (height, width) of the part of an image that the encoder sees."""
        if options.resize is None or options.size is None:
            return self.preprocessing.size
        if isinstance(options.size, int):
            return options.size, options.size
        return options.size

    def views(self, options: ImageOptions, usual: int) -> Views:
        augmentation = Augmentation(options.augmentation, self._seen(options))
        per_sample = options.views or (usual if augmentation.changes else 1)
        return Views(augmentation, per_sample, options.workers)

    def options(self) -> ImageOptions:
        used = self.preprocessing
        return ImageOptions(
            size=used.size, channels=used.channels, crop=used.crop, equalize=used.equalize, max_pixels=used.max_pixels
        )

    def transform(self, samples: Any) -> Tensor | StreamedPixels:
        pixels = super().transform(samples)
        if isinstance(pixels, Tensor) and self.saw_colours:
            text = "images are grey, and those of training were coloured"
            report_findings([Finding(text, int(_are_grey(pixels.numpy()).sum()), len(pixels), most_rows)])
        return pixels

    def to_dict(self) -> JsonObject:
        return {**super().to_dict(), "saw_colours": self.saw_colours}

    @classmethod
    def from_dict(cls, state: JsonObject) -> Self:
        saw_colours = state.pop("saw_colours")
        reader = super().from_dict(state)
        reader.saw_colours = bool(saw_colours)
        return reader

    def describe(self, x: Tensor) -> str:
        height, width = self.preprocessing.size
        colour = "grey" if x.shape[1] == 1 else "colour"
        return f"{colour} images of {height} x {width} pixels"

    def shown(self, X: object, x: Tensor) -> NDArray[np.uint8]:
        return x.numpy()


def _are_grey(pixels: NDArray[np.uint8], tolerance: int = 3) -> NDArray[np.bool_]:
    """Return which images (n, 3, h, w) have the same values in all channels, which some formats round."""
    found = np.zeros(len(pixels), dtype=bool)
    for place, image in enumerate(pixels):
        found[place] = bool(np.ptp(image.astype(np.int16), axis=0).max() <= tolerance)
    return found
