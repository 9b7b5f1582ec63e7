"""``ordinate.load``: a saved model that finds the data which ``ordinate fit`` has trained it on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.split_file import SPLIT, read_split, trained_on
from ordinate.data.csv_format import Given, csv_given
from ordinate.data.paths import reading
from ordinate.data.rows import Labels, Samples, column_of
from ordinate.data.tables.parquet_table import in_memory
from ordinate.errors import OrdinateError, warn
from ordinate.estimators import loading
from ordinate.estimators.known_samples import KnownSamples
from ordinate.estimators.loading import GivenEncoder
from ordinate.model.folder import CARD
from ordinate.model.model import Model

RECORDS = (SPLIT, "run.toml", "metrics.json", CARD)


def load(folder: str | Path, *, encoder: GivenEncoder | None = None) -> Any:
    """Return the estimator that ``save`` or the command line wrote to ``folder``.

    Only JSON, TOML and tensors are read: nothing in the folder is run. Damage is an error. A model of ``ordinate fit``
    finds the samples that it was fitted to, for ``explain``, ``similar`` and ``report``, while their file is where it
    was, and the same.

    Args:
        folder: Folder of the model; ``"hf://user/name@revision"`` is fetched from the Hugging Face hub.
        encoder: Module of a model that was trained with one, or the function that makes it, of the same structure; a
            copy of it gets the saved weights.

    Raises:
        OrdinateError: There is no model or a damaged one, or an encoder is missing, not expected or does not fit.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> model = CLOCClassifier(epochs=(1, 1), random_state=0).fit(X, np.digitize(X[:, 0], [0.3, 0.7]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model")
        ...     again = load(f"{folder}/model")
        >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
        True
    """
    estimator = loading.load(folder, encoder=encoder)
    if (estimator.folder_ / SPLIT).is_file():
        estimator.data_of_fit_ = FilesOfFit.of(estimator.folder_)
    return estimator


@dataclass(eq=False)
class FilesOfFit:
    """What the folder of a model says of the data that it was fitted to.

    Args:
        records: Texts of the files of the folder, by name.
        split: Content of ``split.json``.
        data: Path of the data, as it was typed; None if it is not known.
        known: Samples of the data; None before they are read.
    """

    records: Mapping[str, str]
    split: Mapping[str, Any] = field(repr=False)
    data: str | None
    known: KnownSamples | None = None

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Read the files of a folder."""
        there = [name for name in RECORDS if (folder / name).is_file()]
        with reading("model", f"{folder} is damaged"):
            records = {name: (folder / name).read_text(encoding="utf-8") for name in there}
        return cls(records, read_split(str(folder)), trained_on(str(folder)))

    @property
    def name(self) -> str:
        """The path of the data, or "the DataFrame", which a saved model does not hold."""
        return "the DataFrame" if self.data is None else self.data

    @property
    def is_file(self) -> bool:
        """Whether the data lie in a file, and not in a DataFrame."""
        return self.data is not None

    @property
    def group(self) -> str | None:
        """The column of the groups that were kept on one side; None without any."""
        group: str | None = self.split["group"]
        return group

    def samples(self, model: Model) -> KnownSamples | None:
        """Return the samples that the model was fitted to; None if their file is gone or has changed."""
        if self.known is None and self.data is not None and Path(self.data).exists():
            self.known = self.read_samples(model, self.data)
        return self.known

    def holds_data(self, path: str) -> bool:
        """Return whether a file or folder is the data of the fit."""
        from ordinate.commands.samples import digest_of_files

        return Path(path).exists() and digest_of_files(Path(path)) == self.split.get("data")

    def read_samples(self, model: Model, data: str) -> KnownSamples | None:
        """Return the samples of the data; None if these are not the data of the fit."""
        try:
            found = self._read(model, data, say=lambda _: None, skip_unreadable=True)
        except OrdinateError:  # Such as images that fit has left out.
            return None
        if found.trained is None:
            return None
        return KnownSamples(found.X, found.y, found.rows, found.trained, found.measured, found.names, found.groups)

    def labelled(self, model: Model, path: str) -> tuple[Samples, Labels, NDArray[np.str_] | None]:
        """Return samples, labels and groups of a file, folder or zip: of the data of the fit those held out."""
        found = self._read(model, path, say=warn)
        known = None if found.trained is not None or self.group is None else self.samples(model)
        if known is not None and found.groups is not None:
            note = known.note_on(self.group, found.groups[found.measured])
            if note is not None:
                warn(note)
        return *found.take(found.measured), column_of(found.groups, found.measured)

    def _read(self, model: Model, data: str, say: Callable[[str], None], *, skip_unreadable: bool | None = None) -> Any:
        from ordinate.commands.report import read_report_samples

        with csv_given(Given(known=self.split["csv"])):
            target = self.split["target"]
            return read_report_samples(model, self.split, data, target, say=say, skip_unreadable=skip_unreadable)

    def of_table(self, path: str, model: Model) -> Self:
        """Return the same of a DataFrame, which was written to a path for training, with its samples in memory."""
        known = self.read_samples(model, path)
        if known is not None:
            X = in_memory(known.X)
            if isinstance(X, pd.DataFrame):
                X = X.set_axis(known.rows)
            known = replace(known, X=X)
        return type(self)(self.records, self.split, None, known)
