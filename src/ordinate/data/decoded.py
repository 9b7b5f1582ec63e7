"""Files or arrays that become uint8 pixels or voxels of one size: decoded once, or streamed, by worker processes."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from jaxtyping import UInt8
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset
from tqdm import tqdm

from ordinate.data.loader import Loader, workers_for
from ordinate.data.mapped_matrix import mapped_matrix
from ordinate.data.memory import require_memory
from ordinate.data.modality import Reader
from ordinate.data.named_files import NamedFiles
from ordinate.data.preprocessing import Preprocessing
from ordinate.data.rows import take
from ordinate.data.saved_fields import JsonObject, checked_fields
from ordinate.data.streamed import StreamedPixels, too_large
from ordinate.encoders.build import build_encoder
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError

MAX_BYTES_IN_MEMORY = 4 * 2**30  # More pixels are kept in an unnamed file on disk.


@dataclass(frozen=True)
class DecodedSamples:
    """Decoded samples, and the preprocessing that made them, so that it is not done again.

    Args:
        pixels: Pixels (n, c, h, w) or voxels (n, c, d, h, w): an array, or
            :class:`~ordinate.data.streamed.StreamedPixels`.
        preprocessing: What was done to every sample.
    """

    pixels: Any
    preprocessing: Preprocessing

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, rows: NDArray[np.int64]) -> Self:
        return type(self)(take(self.pixels, rows), self.preprocessing)


class Decoding(Protocol):
    """How samples are decoded, as the options of an estimator say, or the reader of a model."""

    @property
    def workers(self) -> int: ...

    @property
    def stream(self) -> bool | None: ...


def _silent(_: str) -> None:
    """Ignore a note."""


class PixelReader(Reader):
    """Bring every sample to one size and number of channels.

    Args:
        preprocessing: What is done to every sample.
        mean: Mean of each channel of the training samples, on the scale 0..1.
        scale: Deviation of each channel of the training samples, on the same scale.
        workers: Number of processes that decode.
        notes: Notes on the training samples.
    """

    read_at_once = 256
    in_float32 = True
    input_dtype = torch.uint8
    preprocessing_class: ClassVar[type[Any]]
    files_class: ClassVar[type[NamedFiles]]
    decoded_class: ClassVar[type[DecodedSamples]]
    stream: bool | None = None  # It is that of the options, and not saved.

    def __init__(
        self,
        preprocessing: Preprocessing,
        mean: tuple[float, ...],
        scale: tuple[float, ...],
        workers: int = 2,
        notes: list[str] | None = None,
    ) -> None:
        self.preprocessing = preprocessing
        self.mean = mean
        self.scale = scale
        self.workers = workers
        self.notes = notes or []

    @staticmethod
    @abstractmethod
    def choose(samples: Any, options: Any, /) -> tuple[Preprocessing, list[str]]:
        """Return the preprocessing, as the options say or chosen from the samples, and notes."""

    @classmethod
    def fit(cls, samples: Any, options: Any, *, progress: bool = False) -> tuple[Self, DecodedSamples]:
        """Choose the preprocessing from the training samples; return the reader and the samples as it reads them."""
        notes: list[str] = []
        if isinstance(samples, DecodedSamples):
            preprocessing = samples.preprocessing
            pixels = samples.pixels
        else:
            preprocessing, notes = cls.choose(samples, options)
            pixels = cls._pixels(samples, preprocessing, options, progress, notes.append)
        known = pixels
        if isinstance(pixels, StreamedPixels):
            known = cls._decoded_sample(pixels, options, progress)
        reader = cls(preprocessing, *moments(known), options.workers, notes)
        reader.stream = options.stream
        return reader, cls.decoded_class(pixels, preprocessing)

    @classmethod
    def _decoded_sample(cls, pixels: StreamedPixels, options: Any, progress: bool) -> NDArray[np.uint8]:
        """Return the pixels of some of the files."""
        files = pixels.sample().files
        known, failures = cls.decode_all(files, pixels.preprocessing, options.workers, progress)
        require_readable(failures, len(files), cls.kind)
        return known

    @classmethod
    def _pixels(
        cls,
        samples: Any,
        preprocessing: Preprocessing,
        options: Decoding,
        progress: bool,
        say: Callable[[str], None] = _silent,
    ) -> NDArray[np.uint8] | StreamedPixels:
        """Return the pixels of samples, which stream if ``options`` or the memory say so, and are read otherwise."""
        streamed = stream(samples, preprocessing, options, say)
        if streamed is not None:
            return streamed
        pixels, failures = cls.decode_all(samples, preprocessing, options.workers, progress)
        require_readable(failures, len(samples), cls.kind, way_out=getattr(options, "way_out", ""))
        return pixels

    def readable(self, X: Any) -> tuple[Any, dict[int, str]]:
        """Return the pixels of the files that can be read, and the reasons of the others by their place."""
        if isinstance(X, self.decoded_class) or getattr(X, "ndim", 1) > 1:
            return X, {}
        if not isinstance(X, self.files_class):
            X = self.files_class(X)
        pixels, failures = self.decode_all(X, self.preprocessing, self.workers, self.progress)
        if failures:
            pixels = np.delete(pixels, list(failures), axis=0)
        return self.decoded_class(pixels, self.preprocessing), failures

    def transform(self, samples: Any) -> Tensor | StreamedPixels:
        """Return the pixels (n, c, *size), uint8: a tensor, or :class:`~ordinate.data.streamed.StreamedPixels`.

        An `OrdinateError` names samples that cannot be read.
        """
        pixels = self._pixels(samples, self.preprocessing, self, self.progress)
        return pixels if isinstance(pixels, StreamedPixels) else torch.from_numpy(pixels)

    def read(self, X: Any, folder: Path | None = None) -> Any:
        return self.transform(X)

    @staticmethod
    @abstractmethod
    def decode_all(
        samples: Any, preprocessing: Any, /, workers: int, progress: bool
    ) -> tuple[NDArray[np.uint8], dict[int, str]]:
        """Return the pixels of all samples, and the reasons of those that cannot be read by their index."""

    def decode(self, X: Any) -> Any:
        if not isinstance(X, self.files_class):
            return X
        return self.decoded_class(self._pixels(X, self.preprocessing, self, self.progress), self.preprocessing)

    @property
    def sample_shape(self) -> tuple[int, ...]:
        return (self.preprocessing.channels, *self.preprocessing.size)

    def new_encoder(
        self, name: Encoder, embedding_dim: int | None, options: Any, *, for_saved_weights: bool, **task: Any
    ) -> nn.Module:
        return build_encoder(name, self.sample_shape, embedding_dim, mean=self.mean, std=self.scale)

    def embedded_at_once(self, x: Tensor) -> int:
        return 64

    def to_dict(self) -> JsonObject:
        learned = {"mean": self.mean, "scale": self.scale, "workers": self.workers, "notes": self.notes}
        return asdict(self.preprocessing) | learned

    @classmethod
    def from_dict(cls, state: JsonObject) -> Self:
        learned = {name: state.pop(name) for name in ("workers", "notes")}
        for name, value in state.items():
            if isinstance(value, list):  # JSON has no tuples.
                state[name] = tuple(value)
        mean, scale = tuple(state.pop("mean")), tuple(state.pop("scale"))
        return cls(checked_fields(cls.preprocessing_class(**state)), mean, scale, **learned)


def stream(
    samples: object, preprocessing: Preprocessing, options: Decoding, say: Callable[[str], None] = _silent
) -> StreamedPixels | None:
    """Return files that are decoded as they are needed, or None if all samples are to be decoded first.

    If ``options.stream`` is None, the memory decides, and ``say`` gets a note on it.
    """
    if not isinstance(samples, NamedFiles) or options.stream is False:
        return None
    if options.stream is None:
        note = too_large((len(samples), preprocessing.channels, *preprocessing.size))
        if note is None:
            return None
        say(note)
    return StreamedPixels(samples, preprocessing, options.workers)


def decode_samples(
    samples: Any, preprocessing: Preprocessing, noun: str, *, workers: int, progress: bool, chunk: int = 1
) -> tuple[NDArray[np.uint8], dict[int, str]]:
    """Return the pixels (n, c, *size) of all samples, and the reasons of those that cannot be read by their index.

    Pixels are in memory or, beyond 4 GiB, in an unnamed file on disk; those of a sample that cannot be read are 0.

    Args:
        samples: Files or arrays that the preprocessing can read.
        preprocessing: What is done to every sample.
        noun: Noun for one sample, shown in the progress bar.
        workers: Number of processes that decode; 0, or few samples, decode in this one.
        progress: Whether to show a progress bar.
        chunk: Number of samples that a worker decodes at a time.
    """
    if isinstance(samples, DecodedSamples):
        if samples.preprocessing != preprocessing:
            raise OrdinateError("X", f"samples decoded with {samples.preprocessing}", preprocessing)
        return samples.pixels, {}
    shape = (len(samples), preprocessing.channels, *preprocessing.size)
    is_large = math.prod(shape) > MAX_BYTES_IN_MEMORY
    pixels = mapped_matrix(shape, dtype=np.uint8) if is_large else np.zeros(shape, dtype=np.uint8)
    failures: dict[int, str] = {}
    for rows, part, failed in _decoded_in_chunks(samples, preprocessing, noun, workers, progress, chunk):
        pixels[rows.start : rows.stop] = part
        failures |= failed
    return pixels, failures


def unreadable_samples(samples: StreamedPixels, noun: str, *, progress: bool) -> dict[int, str]:
    """Return the reasons why samples that stream cannot be read, by their index; all of them are read for that."""
    failures: dict[int, str] = {}
    chunks = _decoded_in_chunks(samples.files, samples.preprocessing, noun, samples.workers, progress)
    for _, _, failed in chunks:
        failures |= failed
    return failures


def _decoded_in_chunks(
    samples: Any, preprocessing: Preprocessing, noun: str, workers: int, progress: bool, chunk: int = 1
) -> Iterator[tuple[range, NDArray[np.uint8], dict[int, str]]]:
    """Yield rows with their pixels, and the reasons of those that cannot be read."""
    chunks = [range(start, min(start + chunk, len(samples))) for start in range(0, len(samples), chunk)]
    processes = workers_for(len(chunks), workers)
    loader = Loader(DecodedChunks(samples, preprocessing, chunks), batch_size=None, num_workers=processes)
    with tqdm(total=len(samples), desc=f"reading {noun}s", unit=noun, disable=not progress, leave=False) as bar:
        for rows, (part, failed) in zip(chunks, loader, strict=True):
            yield rows, part, failed
            bar.update(len(rows))


class DecodedChunks(Dataset[tuple[NDArray[np.uint8], dict[int, str]]]):
    """Chunks of samples, which the process that asks for them decodes."""

    def __init__(self, samples: object, preprocessing: Preprocessing, chunks: Sequence[Sequence[int]]) -> None:
        self.samples = samples
        self.preprocessing = preprocessing
        self.chunks = chunks

    def __len__(self) -> int:
        return len(self.chunks)

    def __getitem__(self, index: int) -> tuple[NDArray[np.uint8], dict[int, str]]:
        chunk = self.chunks[index]
        pixels = np.zeros((len(chunk), self.preprocessing.channels, *self.preprocessing.size), dtype=np.uint8)
        failures = {}
        for place, row in enumerate(chunk):
            try:
                pixels[place] = self.preprocessing.read(self.samples, row)
            except OrdinateError as error:
                failures[row] = str(error)
        return pixels, failures


def require_readable(
    failures: Mapping[int, str],
    total: int,
    noun: str = "images",
    where: str = "X",
    way_out: str = "",
    max_named: int = 10,
) -> None:
    """Raise an error if samples could not be read.

    Args:
        failures: Reasons why samples could not be read, by their index.
        total: Number of all samples.
        noun: Noun for several samples.
        where: Argument or path that the error is about.
        way_out: End of the message.
        max_named: Largest number of reasons that the message gives.
    """
    if failures:
        shown = "; ".join(list(failures.values())[:max_named])
        if len(failures) > max_named:
            shown += f"; and {len(failures) - max_named} more"
        raise OrdinateError(where, problem=f"{len(failures)} of {total} {noun} cannot be read: {shown}{way_out}")


def evenly_spread(total: int, most: int = 256) -> list[int]:
    """Return at most ``most`` indices, spread evenly over all.

    Example:
        >>> evenly_spread(9, most=3), evenly_spread(2, most=3)
        ([0, 4, 8], [0, 1])
    """
    return np.unique(np.linspace(0, total - 1, min(most, total)).astype(int)).tolist()


def check_size(preprocessing: Preprocessing, at_once: int) -> None:
    """Raise an error if memory does not hold the samples that are decoded together."""
    size = " x ".join(map(str, preprocessing.size))
    pixels = preprocessing.channels * math.prod(preprocessing.size)
    require_memory(at_once * pixels, f"a size of {size} for the encoder", "a smaller one takes less")


def moments(
    pixels: UInt8[np.ndarray, "n c *size"], counted_at_once: int = 2**26
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and deviation of every channel, on the scale 0..1; a constant channel has the deviation 1.

    Args:
        pixels: Pixels of all samples.
        counted_at_once: Number of pixels that are counted at a time, of which each takes 8 bytes meanwhile.
    """
    values = np.arange(256) / 255
    mean = []
    scale = []
    for channel in range(pixels.shape[1]):
        counts = np.zeros(256)
        for part in np.array_split(pixels[:, channel], max(1, pixels[:, channel].size // counted_at_once)):
            counts += np.bincount(part.ravel(), minlength=256)
        share = counts / counts.sum()
        centre = float(share @ values)
        spread = float(np.sqrt(share @ (values - centre) ** 2))
        mean.append(centre)
        scale.append(spread or 1.0)
    return tuple(mean), tuple(scale)
