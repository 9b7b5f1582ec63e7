"""Images (n, channels, height, width): arrays, or folders and zips of image files."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset

from ordinate.data.decoded import stream
from ordinate.data.images.dataset_images import DatasetImages
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.folds import FOLDS, hold_out
from ordinate.data.images.labelled import holds_images, read_images, read_labelled_images
from ordinate.data.images.options import ImageOptions
from ordinate.data.images.pixels import (
    Decoded,
    Images,
    as_images,
    decode,
    duplicates,
    seconds_to_decode,
)
from ordinate.data.images.reader import ImageReader
from ordinate.data.labelled import Labelled
from ordinate.data.modality import Modality, Request, are_paths
from ordinate.data.streamed import StreamedPixels
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError

NAMED = 5  # duplicates that a note names


class ImageModality(Modality):
    """Paths of image files, or uint8 or floats from 0 to 1 (n, channels, height, width)."""

    name = "images"
    expected = "images: paths, or (n, channels, height, width)"
    readers = (ImageReader,)
    parameter = "images"
    options_class = ImageOptions
    command_options = ("image_size", "pretrained", "stream", "fold", "skip_unreadable")
    plans_training = True

    def recognises(self, X: Any, options: ImageOptions | None = None) -> bool:
        return isinstance(X, ImageFiles | Decoded) or getattr(X, "ndim", 2) == 4 or are_paths(X)

    def check(self, estimator: Any, X: Any, *, reset: bool) -> Images | Decoded:
        if isinstance(X, ImageFiles | Decoded):
            return X
        return as_images(np.asarray(X)) if getattr(X, "ndim", 1) == 4 else ImageFiles(X)

    def fit(
        self, X: Images | Decoded, options: ImageOptions, *, encoder: Encoder, progress: bool
    ) -> tuple[ImageReader, Decoded]:
        return ImageReader.fit(X, options, progress=progress)

    def of_dataset(self, dataset: Dataset[Any], options: ImageOptions | None) -> DatasetImages | None:
        return DatasetImages(dataset) if options is not None and options.stream else None

    def describe(self, X: Decoded) -> str:
        height, width = X.preprocessing.size
        return f"{height} x {width} pixels, {'grey' if X.preprocessing.channels == 1 else 'in colour'}"

    def pictures(self, X: Any) -> NDArray[np.uint8] | None:
        return X.pixels if isinstance(X, Decoded) else None

    def paths(self, X: Any) -> NDArray[np.str_] | None:
        files = X.pixels.files if isinstance(X, Decoded) and isinstance(X.pixels, StreamedPixels) else X
        return files.paths if isinstance(files, ImageFiles) else None

    def opens(self, path: str | Path) -> bool:
        return holds_images(path)

    def read_labelled(self, path: str | Path, request: Request) -> Labelled:
        labelled = read_labelled_images(path, request, skip_unreadable=request.skip_unreadable)
        return self.hold_out_fold(labelled, path, request)

    def hold_out_fold(self, labelled: Labelled, path: str | Path, request: Request) -> Labelled:
        if labelled.splits is not None and set(FOLDS).intersection(labelled.splits):
            labelled = hold_out(labelled, request.fold)
            request.say(f"fold {request.fold} of {len(FOLDS)} is held out")
        elif request.fold:
            raise OrdinateError("fold", f"{request.fold}, but {path} has no folds")
        return labelled

    def read_unlabelled(self, path: str | Path, left_out: Callable[[str], None] | None = None) -> ImageFiles:
        return read_images(path, left_out)

    def decode(
        self, X: Images, options: ImageOptions | None, request: Request, choose: Any = None
    ) -> tuple[Decoded, dict[int, str]]:
        """Return decoded images; ``choose`` is given their preprocessing and the seconds to decode, returns a size."""
        options = options or ImageOptions()
        X = X if isinstance(X, ImageFiles) else as_images(X)
        chosen, notes = ImageReader.choose(X, options)
        for note in notes:
            request.say(f"note: {note}")
        if choose is not None:
            seconds = 0.0 if options.stream else seconds_to_decode(X, chosen, options.workers)
            chosen = replace(chosen, size=choose(chosen, seconds))
        if isinstance(X, ImageFiles):
            streamed = stream(X, chosen, options, lambda note: request.say(f"note: {note}"))
            if streamed is not None:
                return Decoded(streamed, chosen), {}
        pixels, failures = decode(X, chosen, options.workers, request.progress)
        return Decoded(pixels, chosen), failures

    def notes(self, X: Decoded, sides: NDArray[Any], paths: NDArray[Any] | None) -> list[str]:
        """Return notes on images that are on more than one side of the split, those that stream by name and size."""
        alike = "pixel for pixel"
        if isinstance(X.pixels, StreamedPixels):
            found, paths, alike = X.pixels.files.repeated(), self.paths(X), "by name and size"
        else:
            found = duplicates(X.pixels)
        groups = [group for group in found if len(set(sides[group])) > 1]
        if not groups:
            return []
        names = np.arange(len(sides)).astype(str) if paths is None else paths
        shown = "; ".join(" = ".join(f"{names[row]} ({sides[row]})" for row in group[:3]) for group in groups[:NAMED])
        many = f"{len(groups)} images stand" if len(groups) > 1 else "an image stands"
        return [f"{many} on both sides of the split, {alike}: {shown}"]


MODALITY = ImageModality()
