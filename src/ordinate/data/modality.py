"""What a kind of data is: how its samples are recognised, read, encoded, shown and saved.

A kind of data is a folder of ``ordinate.data`` with one :class:`Modality`, which knows the samples and the files, and
one or more :class:`Reader`, which a model keeps. Everything else asks these two and names no kind of data.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import Columns
from ordinate.data.options import DataOptions
from ordinate.data.rows import row_codes
from ordinate.data.saved_fields import JsonObject
from ordinate.data.typed import Reading
from ordinate.data.views import Views
from ordinate.encoders.build import build_encoder
from ordinate.encoders.given import Encoder
from ordinate.errors import OrdinateError


class Reader(ABC):
    """Turn samples into the batch of an encoder, as learned from the training samples. A saved model keeps it.

    Example:
        >>> class WordReader(Reader):
        ...     kind = "words"
        ...     sample_shape = (1,)
        ...
        ...     def transform(self, X):
        ...         return np.array([[len(word)] for word in X], dtype=np.float32)
        ...
        ...     def to_dict(self):
        ...         return {}
        ...
        ...     @classmethod
        ...     def from_dict(cls, state):
        ...         return cls()
        >>> WordReader().read(["a", "tree"])
        tensor([[1.],
                [4.]])
    """

    kind: ClassVar[str]  # Its name in saved models.
    # Prediction reads this many samples of a file at once, a multiple of the batch that is embedded.
    read_at_once: ClassVar[int] = 16384
    input_dtype: ClassVar[torch.dtype] = torch.float32  # The dtype of the batch.
    in_float32: ClassVar[bool] = False  # Embeddings are computed in float32, on a GPU if available, instead of float64.
    graph_dtype: ClassVar[torch.dtype] = torch.float32  # An exported graph computes embeddings in this dtype.
    # The preprocessing that the exported graph expects; None if export is not supported.
    export_note: ClassVar[str | None] = None
    has_dropout: ClassVar[bool] = False  # Encoders have dropout, so two passes differ.
    notes: list[str]  # Notes for the user about the training samples.
    progress: bool = False  # Whether to show a progress bar.
    on_gpu: bool = False  # Whether the reader may use the GPU.
    way_out: str = ""  # The advice at the end of an error about unreadable files.

    @abstractmethod
    def transform(self, X: Any) -> Any:
        """Return the batch of samples, an array or a tensor ``(n, *sample_shape)``."""

    def readable(self, X: Any) -> tuple[Any, dict[int, str]]:
        """Return the samples that can be read, and by the place of each other one why it cannot."""
        return X, {}

    @property
    @abstractmethod
    def sample_shape(self) -> tuple[int, ...]:
        """The shape of one sample in the batch."""

    @abstractmethod
    def to_dict(self) -> JsonObject:
        """Return what :meth:`from_dict` expects, ready for JSON."""

    @classmethod
    @abstractmethod
    def from_dict(cls, state: JsonObject) -> Self:
        """Return the reader that :meth:`to_dict` described."""

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights that are saved with the reader."""
        return {}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Set the weights that :meth:`tensors` gave."""
        if tensors:
            raise OrdinateError("model", f"weights of a reader of {self.kind!r}", "none")

    def read(self, X: Any, folder: Path | None = None) -> Tensor:
        """Return the batch of samples; one that is too large for memory lies in a file in ``folder``."""
        return torch.as_tensor(self.transform(X))

    def decode(self, X: Any) -> Any:
        """Return samples with files read, for a caller that reads them several times."""
        return X

    def blank(self, n: int) -> Tensor:
        """Return a batch of n samples without content, to try an encoder on."""
        return torch.zeros(n, *self.sample_shape, dtype=self.input_dtype)

    @property
    def n_features_in(self) -> int:
        """Columns of a table, channels, or texts per sample."""
        return self.sample_shape[0]

    @property
    def numbers_only(self) -> bool:
        """Whether all features of a sample are numbers."""
        return False

    @property
    def features(self) -> list[str] | None:
        """Names of the columns of the batch; None if it has none."""
        return None

    def embedded_at_once(self, x: Tensor) -> int:
        """Return how many samples of a batch pass the encoder together in prediction."""
        return 4096

    def new_encoder(
        self, name: Encoder, embedding_dim: int | None, options: Any, *, for_saved_weights: bool, **task: Any
    ) -> nn.Module:
        """Return a new encoder of these samples.

        Args:
            name: Name of the encoder, of which ``"auto"`` is the modality's default, or a network of the user, see
                :func:`~ordinate.encoders.given.build_given_encoder`.
            embedding_dim: Dimension d of the embeddings; None for the features of the network itself.
            options: Options of the modality.
            for_saved_weights: Whether the encoder will get the weights of a saved model.
            task: Options of an MLP that depend on the task.
        """
        return build_encoder(name, self.sample_shape, embedding_dim, **task)

    def views(self, options: Any, usual: int) -> Views | None:
        """Return how training draws views, ``usual`` of each sample; None for the samples as they are."""
        return None

    def options(self) -> DataOptions | None:
        """Return options of the modality that read other samples as the training samples were read."""
        return None

    def describe(self, x: Tensor) -> str:
        """Return what the samples of a batch are, for a sentence about several."""
        return f"samples of shape {' x '.join(map(str, x.shape[1:]))}"

    def shown(self, X: Iterable[object], x: Tensor) -> pd.DataFrame | np.ndarray:
        """Return what a report shows of samples X, of the batch x: rows, uint8 (n, c, h, w) or curves (n, c, t)."""
        return pd.DataFrame({"sample": [str(sample) for sample in X]})


def are_paths(X: Any) -> TypeGuard[Sequence[str | Path]]:
    """Return whether X is one path per sample."""
    if isinstance(X, str | bytes | Path) or not hasattr(X, "__len__") or getattr(X, "ndim", 1) != 1 or len(X) == 0:
        return False
    return isinstance(X.iloc[0] if isinstance(X, pd.Series) else X[0], str | Path)


@dataclass(frozen=True)
class Request(Columns):
    """How a labelled data set is to be read.

    Args:
        target: Column of the label; None leaves the choice to the data.
        split: Column that says what is held out.
        group: Column of the group, such as a subject, which stays on one side of a split.
        weight: Column of the weight of a sample.
        how: What is known of the columns.
        known_group: Column of the group if there is such a column and no cell of it is empty.
        drop: Columns of a table to leave out.
        categorical: Columns of a table whose numbers are codes.
        skip_unreadable: Whether files that cannot be read are left out; None raises an error that names no way out.
        progress: Whether to show a progress bar.
        say: Function that gets notes for the user.
        more_targets: Columns of a table that are targets in addition to the first one.

    Example:
        >>> Request(target="grade", drop=("name",)).target
        'grade'
    """

    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    skip_unreadable: bool | None = False
    progress: bool = False
    say: Callable[[str], None] = print
    more_targets: tuple[str, ...] = ()


class Modality(ABC):
    """A kind of data: which samples and which files are of it, and how they are read.

    Example:
        >>> from ordinate.data import modalities
        >>> tables = next(modality for modality in modalities() if modality.name == "tables")
        >>> tables.name, tables.parameter, [reader.kind for reader in tables.readers]
        ('tables', 'tables', ['table'])
    """

    name: str  # The plural of the samples, such as "images".
    expected: str  # Error messages say that X may be this.
    readers: tuple[type[Reader], ...]
    parameter: str = ""  # The name of its options in recipes and saved models; empty if it has none.
    options_class: type[DataOptions] | None = None
    encoders: tuple[str, ...] = ()  # Names of encoders that require options.
    command_options: tuple[str, ...] = ()  # Options of ``ordinate fit`` that have no effect on other kinds of data.
    holds_arrays: bool = False  # Its files may hold an array of another kind, which tells its kind once it is read.
    plans_training: bool = False  # Commands choose network, size and epochs where they are left open.

    def options_of(self, given: object) -> DataOptions | None:
        """Return the options of this kind of data among an estimator's, the defaults if it has none of them."""
        if self.options_class is None:
            return None
        if isinstance(given, self.options_class):
            return given
        return self.options_class()

    @property
    def noun(self) -> str:
        """What a file of such samples holds, for messages."""
        return self.name

    # Samples

    @abstractmethod
    def recognises(self, X: object, options: DataOptions | None = None) -> bool:
        """Return whether X is of this kind, given the options of this kind that the estimator has."""

    def check(self, estimator: object, X: Any, *, reset: bool) -> Any:
        """Return X in a form that the reader and the selection of rows know; ``reset`` in fitting."""
        return X

    @abstractmethod
    def fit(self, X: Any, options: Any, *, encoder: Encoder, progress: bool) -> tuple[Reader, Any]:
        """Return the reader of the training samples, and these with their files read."""

    def check_unseen(  # noqa: B027  # Decoded samples can always be read.
        self, X: Any, seen: NDArray[np.int64], unseen: NDArray[np.int64]
    ) -> None:
        """Raise an error if the rows ``unseen`` could not be read as learned from the rows of training, ``seen``."""

    def describe(self, X: Any) -> str:
        """Return the shape of a sample, for the line that a command prints of its data."""
        return f"shape {X.shape[1:]}" if hasattr(X, "shape") else self.name

    def pictures(self, X: object) -> NDArray[np.uint8] | None:
        """Return decoded samples as pictures (n, c, h, w), which pages and figures show; None if they are none."""
        return None

    def paths(self, X: object) -> NDArray[np.str_] | None:
        """Return the files (n,) that samples lie in; None if they do not lie in one each."""
        return None

    def reads_with(self, reader: Reader) -> bool:
        """Return whether a reader is one of this kind of data."""
        return isinstance(reader, self.readers)

    # Files

    def opens(self, path: str | Path) -> bool:
        """Return whether a file or folder holds such samples."""
        return False

    def read_labelled(self, path: str | Path, request: Request) -> Labelled:
        """Return the samples of a file or folder with their labels."""
        raise OrdinateError("data", path, f"another kind of data: {self.name} are not read with labels")

    def read_unlabelled(
        self, path: str | Path, left_out: Callable[[str], None] | None = None, how: Reading = Reading()
    ) -> Any:
        """Return the samples of a file or folder, whether it has labels or not.

        ``left_out`` is called with every file that is named and not there, which is an error without it; ``how`` says
        what is known of the columns of a table.
        """
        return self.read_labelled(path, Request()).samples

    def preprocessing(self, X: Any, options: Any, say: Callable[[str], None]) -> Any:
        """Return what is done to every sample when it is decoded, chosen from some; None where nothing is decoded."""
        return None

    def decode(self, X: Any, preprocessing: Any, options: Any, request: Request) -> tuple[Any, dict[int, str]]:
        """Return samples with their files read, and from the index of each unreadable one to the reason."""
        return X, {}

    def copies(self, X: Any) -> tuple[NDArray[np.uint64 | np.int64], str]:
        """Return codes (n,) that copies of a sample share, and what a copy is, such as ``"an exact copy"``."""
        return row_codes(X), "an exact copy"

    def exact_copies(self, X: Any) -> NDArray[np.uint64 | np.int64] | None:
        """Return codes (n,) that exact copies of a sample share; None if the samples are still to be read."""
        return self.copies(X)[0]
