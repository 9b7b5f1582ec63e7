"""What kinds of data have in common whose samples become pixels or voxels: images and volumes."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ordinate.data.decoded import DecodedSamples, PixelReader, stream, unreadable_samples
from ordinate.data.modality import Modality, Reader, Request, are_paths
from ordinate.data.named_files import NamedFiles
from ordinate.data.options import DataOptions
from ordinate.data.preprocessing import Preprocessing
from ordinate.data.streamed import StreamedPixels
from ordinate.encoders.given import Encoder


class PixelModality(Modality):
    """A kind of data that lies in files or arrays, and becomes uint8 pixels or voxels of one size.

    Attributes:
        reader: Reader of the samples; it names their files and their decoded form.
        dimensions: Number of dimensions of an array of samples.
        suffixes: Suffixes of the files; empty if paths of any files are of this kind.
    """

    reader: ClassVar[type[PixelReader]]
    dimensions: ClassVar[int]
    suffixes: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    @abstractmethod
    def as_array(array: np.ndarray, /) -> np.ndarray:
        """Return an array of samples, or raise an `OrdinateError` that says why it is none."""

    def recognises(self, X: object, options: DataOptions | None = None) -> bool:
        if self._is_read(X) or getattr(X, "ndim", 1) == self.dimensions:
            return True
        return are_paths(X) and str(next(iter(X))).lower().endswith(self.suffixes or "")

    def check(self, estimator: object, X: Any, *, reset: bool) -> DecodedSamples | NamedFiles | np.ndarray:
        if self._is_read(X):
            return X
        if getattr(X, "ndim", 1) == self.dimensions:
            return self.as_array(np.asarray(X))
        return self.reader.files_class(X)

    def _is_read(self, X: object) -> bool:
        return isinstance(X, self.reader.files_class | self.reader.decoded_class)

    def fit(self, X: Any, options: Any, *, encoder: Encoder, progress: bool) -> tuple[Reader, DecodedSamples]:
        return self.reader.fit(X, options, progress=progress)

    def paths(self, X: object) -> NDArray[np.str_] | None:
        if isinstance(X, DecodedSamples) and isinstance(X.pixels, StreamedPixels):
            X = X.pixels.files
        return X.paths if isinstance(X, self.reader.files_class) else None

    def copies(self, X: DecodedSamples) -> tuple[NDArray[np.uint64 | np.int64], str]:
        if isinstance(X.pixels, StreamedPixels):
            return X.pixels.files.codes(), "a copy, by name and size,"
        return super().copies(X.pixels)

    def exact_copies(self, X: Any) -> NDArray[np.uint64 | np.int64] | None:
        pixels = X.pixels if isinstance(X, DecodedSamples) else X
        return None if isinstance(pixels, StreamedPixels | NamedFiles) else super().copies(pixels)[0]

    def preprocessing(self, X: Any, options: Any, say: Callable[[str], None]) -> Preprocessing:
        preprocessing, notes = self.reader.choose(self._undecoded(X), self.options_of(options))
        for note in notes:
            say(f"note: {note}")
        return preprocessing

    def decode(
        self, X: Any, preprocessing: Preprocessing, options: Any, request: Request
    ) -> tuple[DecodedSamples, dict[int, str]]:
        options = self.options_of(options)
        X = self._undecoded(X)
        streamed = stream(X, preprocessing, options, lambda note: request.say(f"note: {note}"))
        if streamed is not None:
            failures = {}
            if request.skip_unreadable:
                failures = unreadable_samples(streamed, self.name.removesuffix("s"), progress=request.progress)
            return self.reader.decoded_class(streamed, preprocessing), failures
        pixels, failures = self.reader.decode_all(X, preprocessing, options.workers, request.progress)
        return self.reader.decoded_class(pixels, preprocessing), failures

    def _undecoded(self, X: Any) -> Any:
        return X if isinstance(X, self.reader.files_class) else self.as_array(X)
