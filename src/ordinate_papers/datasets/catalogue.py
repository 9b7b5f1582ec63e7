"""What is said of the papers' data sets: one table of ``sets.toml`` each."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal, TypeVar

from ordinate.errors import OrdinateError, did_you_mean
from ordinate.extensions import Task
from ordinate_papers.datasets.download import Download

DATA = "ORDINATE_DATA"  # The environment variable that names the folder of the sets.
Kind = Literal["images", "table", "drawn", "series", "text", "eeg", "volumes", "regions"]
KnownT = TypeVar("KnownT")


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A data set of the papers.

    Args:
        name: Name of the set in commands and runs, and of its folder.
        kind: Kind of its samples.
        title: Title used by its owner.
        label: Meaning of the label, in words.
        task: Task of a model of this label.
        split: Description of the split and its origin.
        layout: Required files and their places, one per line.
        samples: Number of samples; None where the owner does not state it.
        papers: Tables of the papers that use it.
        differs: How the set here differs from the paper's and why, by paper.
        terms: Terms of use.
        source: Address of its owner; empty for a generated set.
        reading: Options of reading and splitting, for the reader of its kind.
        download: File to download, if this is permitted.

    Example:
        >>> DATA_SETS["koa"].label, DATA_SETS["koa"].kind
        ('5 Kellgren-Lawrence grades, 0 healthy to 4 severe', 'images')
    """

    name: str
    kind: Kind
    title: str
    label: str
    task: Task
    split: str
    layout: tuple[str, ...]
    samples: int | None = None
    papers: str = ""
    differs: Mapping[str, str] = field(default_factory=dict)
    terms: str = ""
    source: str = ""
    reading: Mapping[str, Any] = field(default_factory=dict)
    download: Download | None = None


def _described() -> dict[str, DataSet]:
    by_kind = tomllib.loads(files("ordinate_papers.datasets").joinpath("sets.toml").read_text("utf-8"))
    sets = {}
    for kind, described in by_kind.items():
        for name, values in described.items():
            values["layout"] = tuple(values["layout"])
            if "download" in values:
                values["download"] = Download(**values["download"])
            values |= {"name": name, "kind": kind}
            sets[name] = DataSet(**values)
    return sets


DATA_SETS: Mapping[str, DataSet] = _described()
IMAGE_SETS: Mapping[str, DataSet] = {name: chosen for name, chosen in DATA_SETS.items() if chosen.kind == "images"}
TABLE_SETS: Mapping[str, DataSet] = {  # The papers' tables can use these sets.
    name: chosen for name, chosen in DATA_SETS.items() if not chosen.reading.get("unsplit")
}
OTHER_SETS: Mapping[str, DataSet] = {  # These sets have no images and have an owner.
    name: chosen for name, chosen in DATA_SETS.items() if chosen.kind not in ("images", "drawn")
}
SETS: Mapping[str, DataSet] = {**IMAGE_SETS, **OTHER_SETS}  # These sets have an owner.


def dataset(name: str) -> DataSet:
    """Return a data set that tables can use; an unknown one is an `OrdinateError` that names the nearest."""
    return look_up("dataset", name, TABLE_SETS)


def look_up(argument: str, name: str, known: Mapping[str, KnownT]) -> KnownT:
    """Return what a name stands for.

    Raises:
        OrdinateError: it is unknown; names the nearest.
    """
    if name not in known:
        if hint := did_you_mean(name, known):
            raise OrdinateError(argument, repr(name), hint=hint)
        raise OrdinateError(argument, repr(name), f"one of {', '.join(known)}")
    return known[name]
