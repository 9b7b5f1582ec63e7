"""Files or arrays that become uint8 pixels or voxels of one size: decoded once, or streamed, by worker processes."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from jaxtyping import UInt8
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from ordinate.data.mapped_matrix import mapped_matrix
from ordinate.data.memory import require_memory
from ordinate.data.modality import Reader
from ordinate.data.rows import take
from ordinate.data.saved_fields import checked_fields
from ordinate.data.streamed import StreamedPixels, too_large
from ordinate.data.worker_processes import usable_workers
from ordinate.encoders.build import build_encoder
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError

IN_MEMORY = 4 * 2**30  # bytes of pixels; more are kept in an unnamed file on disk
FEW_CHUNKS = 4  # decoded without a process of their own
NAMED = 10  # unreadable samples that an error names
COUNTED = 2**26  # pixels at a time, which take 8 bytes each while they are counted
LOOKED_AT = 256  # samples that tell sizes and channels


class Preprocessing(Protocol):
    """What is done to every sample, in training and in prediction alike; a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def size(self) -> tuple[int, ...]: ...

    @property
    def channels(self) -> int: ...

    def read(self, samples: Any, index: int) -> NDArray[np.uint8]:
        """Return a sample (channels, *size), or raise an OrdinateError that names it."""


@dataclass(frozen=True)
class DecodedSamples:
    """Pixels (n, c, h, w) or voxels (n, c, d, h, w) beside what was done to get them, so that it is not done again.

    They are an array, or :class:`~ordinate.data.streamed.StreamedPixels`.
    """

    pixels: Any
    preprocessing: Any

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(take(self.pixels, rows), self.preprocessing)


def _silent(_: str) -> None:
    """Say nothing."""


class PixelReader(Reader):
    """Bring every sample to one size and number of channels; ``mean`` and ``scale`` (c,) are those of pixels 0..1."""

    batch_size = 64
    read_at_once = 256
    in_float32 = True
    input_dtype = torch.uint8
    weight_decay = 0.05
    hub_tasks = ("image-classification", "image-feature-extraction")  # the hub has no image regression
    modality_name: ClassVar[str]
    preprocessing_class: ClassVar[type[Any]]
    files_class: ClassVar[type[Any]]
    decoded_class: ClassVar[type[DecodedSamples]]
    stream: bool | None = None  # as the options say it; not saved
    draws = False  # training samples are drawn whenever they are read; not saved

    def __init__(
        self,
        preprocessing: Any,
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

    @classmethod
    @abstractmethod
    def choose(cls, samples: Any, options: Any) -> tuple[Any, list[str]]:
        """Return the preprocessing, with what the options leave open chosen from the samples, and notes."""

    @classmethod
    def fit(cls, samples: Any, options: Any, *, progress: bool = False) -> tuple[Self, Any]:
        """Choose the preprocessing from the training samples; return the reader and the samples as it reads them."""
        if isinstance(samples, DecodedSamples):
            preprocessing, notes, pixels = samples.preprocessing, list[str](), samples.pixels
        else:
            preprocessing, notes = cls.choose(samples, options)
            pixels = cls._pixels(samples, preprocessing, options, progress, notes.append)
        known = pixels
        if isinstance(pixels, StreamedPixels):
            sample = pixels.sample().files
            known, failures = cls.decode_all(sample, preprocessing, options.workers, progress)
            if len(failures) == len(sample) or not options.skip_unreadable:
                require_readable(failures, len(sample), cls.modality_name)
            known = np.delete(known, list(failures), axis=0)
        reader = cls(preprocessing, *moments(known), options.workers, notes)
        reader.draws = isinstance(pixels, StreamedPixels) and pixels.draws
        reader.stream = options.stream
        return reader, cls.decoded_class(pixels, preprocessing)

    @classmethod
    def _pixels(
        cls, samples: Any, preprocessing: Any, options: Any, progress: bool, say: Callable[[str], None] = _silent
    ) -> Any:
        """Return the pixels of samples, as ``options`` say or memory allows; all are read where they do not stream."""
        if isinstance(samples, cls.files_class):
            streamed = stream(samples, preprocessing, options, say)
            if streamed is not None:
                return streamed
        pixels, failures = cls.decode_all(samples, preprocessing, options.workers, progress)
        require_readable(failures, len(samples), cls.modality_name, way_out=getattr(options, "way_out", ""))
        return pixels

    def readable(self, X: Any) -> tuple[Any, dict[int, str]]:
        """Return the pixels of the files that can be read, and by the place of each other one why it cannot."""
        if isinstance(X, self.decoded_class) or getattr(X, "ndim", 1) > 1:
            return X, {}
        files = X if isinstance(X, self.files_class) else self.files_class(X)
        pixels, failures = self.decode_all(files, self.preprocessing, self.workers, self.progress)
        pixels = np.delete(pixels, list(failures), axis=0) if failures else pixels
        return self.decoded_class(pixels, self.preprocessing), failures

    def transform(self, samples: Any) -> Any:
        """Return the pixels (n, c, *size), uint8; an `OrdinateError` names samples that cannot be read.

        They are a tensor, or where they stream :class:`~ordinate.data.streamed.StreamedPixels`.
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
        """Return the pixels of all samples, and what is wrong with those that could not be read."""

    def decode(self, X: Any) -> Any:
        if not isinstance(X, self.files_class):
            return X
        pixels = self.transform(X)
        return self.decoded_class(pixels if isinstance(pixels, StreamedPixels) else pixels.numpy(), self.preprocessing)

    @property
    def sample_shape(self) -> tuple[int, ...]:
        return (self.preprocessing.channels, *self.preprocessing.size)

    def new_encoder(
        self, name: Encoder, embedding_dim: int | None, options: Any, *, for_saved_weights: bool, **task: Any
    ) -> nn.Module:
        return build_encoder(name, self.sample_shape, embedding_dim, mean=self.mean, std=self.scale)

    def embedded_at_once(self, x: Tensor) -> int:
        return self.batch_size

    def to_dict(self) -> dict[str, Any]:
        chosen = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self.preprocessing).items()}
        learned = {"mean": list(self.mean), "scale": list(self.scale), "workers": self.workers, "notes": self.notes}
        return chosen | learned

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        state = {name: tuple(v) if isinstance(v, list) and name != "notes" else v for name, v in state.items()}
        learned = {name: state.pop(name) for name in ("mean", "scale", "workers", "notes")}
        return cls(checked_fields(cls.preprocessing_class(**state)), **learned)


def stream(
    files: Any, preprocessing: Preprocessing, options: Any, say: Callable[[str], None] = _silent
) -> StreamedPixels | None:
    """Return files to decode as they are needed, or None where all are to be decoded first.

    What ``options.stream`` leaves open, the memory decides, and ``say`` is told.
    """
    shape = (len(files), preprocessing.channels, *preprocessing.size)
    note = too_large(shape) if options.stream is None else None
    if note is not None:
        say(note)
    return StreamedPixels(files, preprocessing, options.workers) if options.stream or note is not None else None


def decode_samples(
    samples: Any,
    preprocessing: Preprocessing,
    noun: str,
    *,
    workers: int,
    progress: bool,
    chunk: int = 1,
) -> tuple[Any, dict[int, str]]:
    """Return the pixels (n, c, *size) of all samples, and from the index of each that could not be read to the reason.

    Pixels are in memory or, past 4 GiB, in an unnamed file on disk; those of an unreadable sample are 0. ``noun`` is
    for one sample, in the progress bar; with 0 ``workers``, and for few samples, this process decodes.
    """
    if isinstance(samples, DecodedSamples):
        if samples.preprocessing != preprocessing:
            raise OrdinateError("X", f"samples decoded with {samples.preprocessing}", preprocessing)
        return samples.pixels, {}
    pixels = zeros((len(samples), preprocessing.channels, *preprocessing.size))
    failures: dict[int, str] = {}
    chunks = [range(start, min(start + chunk, len(samples))) for start in range(0, len(samples), chunk)]
    loader = DataLoader(
        DecodedChunks(samples, preprocessing, chunks),
        batch_size=None,
        num_workers=usable_workers(workers) if len(chunks) > FEW_CHUNKS else 0,
    )
    with tqdm(total=len(samples), desc=f"reading {noun}s", unit=noun, disable=not progress, leave=False) as bar:
        for rows, (part, failed) in zip(chunks, loader, strict=True):
            pixels[rows.start : rows.stop] = part
            failures |= failed
            bar.update(len(rows))
    return pixels, failures


class DecodedChunks(Dataset[tuple[NDArray[np.uint8], dict[int, str]]]):
    """Chunks of samples, decoded where they are asked for: in a worker process."""

    def __init__(self, samples: Any, preprocessing: Preprocessing, chunks: Sequence[Sequence[int]]) -> None:
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
    named: int = NAMED,
) -> None:
    """Raise where samples could not be read, and name the first ``named`` of them; ``way_out`` is the message's end."""
    if failures:
        shown = "; ".join(list(failures.values())[:named])
        more = f"; and {len(failures) - named} more" if len(failures) > named else ""
        raise OrdinateError(where, problem=f"{len(failures)} of {total} {noun} cannot be read: {shown}{more}{way_out}")


def evenly_spread(total: int, most: int) -> list[int]:
    """Return at most so many indices, spread evenly over all.

    Example:
        >>> evenly_spread(9, most=3), evenly_spread(2, most=3)
        ([0, 4, 8], [0, 1])
    """
    return np.unique(np.linspace(0, total - 1, min(most, total)).astype(int)).tolist()


def check_size(preprocessing: Preprocessing, at_once: int) -> None:
    """Raise where memory does not hold the samples that are decoded together."""
    size = " x ".join(map(str, preprocessing.size))
    pixels = preprocessing.channels * math.prod(preprocessing.size)
    require_memory(at_once * pixels, f"a size of {size} for the encoder", "a smaller one takes less")


def zeros(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return zeros in memory or, past 4 GiB, in an unnamed file on disk."""
    if math.prod(shape) <= IN_MEMORY:
        return np.zeros(shape, dtype=np.uint8)
    return mapped_matrix(shape, dtype=np.uint8)


def moments(pixels: UInt8[NDArray[np.uint8], "n c *size"]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and deviation of every channel, in units of 0..1; a constant channel has the deviation 1."""
    values = np.arange(256) / 255
    mean, scale = [], []
    for channel in range(pixels.shape[1]):
        counts = np.zeros(256)
        for part in np.array_split(pixels[:, channel], max(1, pixels[:, channel].size // COUNTED)):
            counts += np.bincount(part.ravel(), minlength=256)
        share = counts / counts.sum()
        centre = float(share @ values)
        spread = float(np.sqrt(share @ (values - centre) ** 2))
        mean.append(centre)
        scale.append(spread if spread > 0 else 1.0)
    return tuple(mean), tuple(scale)
