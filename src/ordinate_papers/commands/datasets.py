"""``ordinate datasets``: the data sets of the papers, which of them are here, and what to put where."""

import os
import textwrap

import numpy as np
import pandas as pd

from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.report.text import table
from ordinate_papers.datasets import reading
from ordinate_papers.datasets.catalogue import DATA, IMAGE_SETS, OTHER_SETS, SETS, DataSet, look_up
from ordinate_papers.datasets.images.catalogue import download, find, load


def datasets(name: str | None, download: str | None) -> None:
    """List every set, explain one, or fetch it into a folder; the options of the command line."""
    if name is None:
        if download is not None:
            raise OrdinateError(
                "--download", expected="the name of a set before it, as in ordinate datasets retinamnist"
            )
        _list()
        return
    look_up("data set", name, SETS)
    if download is not None:
        _fetch(name, download)
    elif name in IMAGE_SETS:
        _explain_images(IMAGE_SETS[name])
    else:
        _explain_other(OTHER_SETS[name])


def _list() -> None:
    rows = [("name", "samples", "here", "label")]
    rows += [(name, _expected(chosen), _state(name), chosen.label) for name, chosen in SETS.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, samples, here, label in rows:
        print(f"{name:<{widths[0]}}  {samples:>{widths[1]}}  {here:<{widths[2]}}  {label}")
    unset = "" if os.environ.get(DATA) else f"; {DATA} is not set"
    print(f"\nordinate datasets NAME describes one, and the files to put into ${DATA}{unset}")


def _expected(chosen: DataSet) -> str:
    return "-" if chosen.samples is None else str(chosen.samples)


def _state(name: str) -> str:
    if name in OTHER_SETS:
        if not _is_here(name):
            return "not here"
        return "here" if reading.unavailable(name) is None else "here, unreadable"
    if find(name) is None:
        return "not here"
    try:
        return f"here: {counted(len(load(name)), 'image')}"
    except OrdinateError:
        return "here, unreadable"


def _is_here(name: str) -> bool:
    """Return whether the files of a set without images are there, whatever else reading them requires."""
    return bool(os.environ.get(DATA)) and bool(reading.files(name))


def _fetch(name: str, folder: str) -> None:
    if name in OTHER_SETS:
        raise OrdinateError(
            name, problem="cannot be downloaded by a program", hint=f"get it from {OTHER_SETS[name].source}"
        )
    path = download(name, folder)
    print(f"{path}: fetched and checked; with ORDINATE_DATA={folder} it is read by its name, {name}")


def _explain_images(chosen: DataSet) -> None:
    _describe(chosen, "images")
    path = find(chosen.name)
    if path is None:
        print(f"not here: put it into the folder {chosen.name} of ${DATA}")
        return
    images = load(chosen.name)
    print(f"here: {counted(len(images), 'image')} in {path}")
    splits = images.splits
    if splits is None:
        splits = pd.Series("all", index=range(len(images)))
    print(_counts(images.labels, splits, chosen.task))


def _explain_other(chosen: DataSet) -> None:
    _describe(chosen, "samples")
    if not _is_here(chosen.name):
        print(f"not here: put it into ${DATA}")
        return
    reason = reading.unavailable(chosen.name)
    if reason is not None:
        raise OrdinateError(reason)
    if chosen.name in ("tuab", "hcp_aging"):  # These take minutes to read.
        print(f"here: {counted(len(reading.files(chosen.name)), 'file')}")
        return
    _, y, split = reading.load(chosen.name)
    print(f"here: {counted(len(y), 'sample')}")
    splits = pd.Series("", index=range(len(y)))
    for part in reading.PARTS:
        splits.iloc[getattr(split, part)] = part
    print(_counts(pd.Series(y, name="label"), splits, chosen.task))


def _describe(chosen: DataSet, counted: str, width: int = 100) -> None:
    """Print what is said of a set in lines of at most ``width`` characters, without breaking addresses."""
    print(f"{chosen.name}: {chosen.title}")
    parts = [("label", chosen.label), (counted, _expected(chosen)), ("split", chosen.split), ("papers", chosen.papers)]
    parts += [("", f"not as {paper}'s: {difference}") for paper, difference in chosen.differs.items()]
    parts += [("terms", chosen.terms), ("source", chosen.source)]
    if chosen.download is not None:
        parts.append(("fetch", f"ordinate datasets {chosen.name} --download FOLDER"))
    parts += zip(["layout", *[""] * len(chosen.layout)], chosen.layout, strict=False)
    for part, text in parts:
        head = f"  {part:<8}"
        lines = textwrap.fill(
            text, width, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip
        print(lines)


def _counts(labels: pd.Series | pd.DataFrame, splits: pd.Series, task: str, *, most_ranks: int = 12) -> str:
    """Return a table with one row per split: samples of each rank, if they are few, or the range of the target."""
    order = [split for split in reading.PARTS if split in set(splits)]
    order += sorted(set(splits) - set(order))
    if isinstance(labels, pd.Series) and task == "ranks" and labels.nunique() <= most_ranks:
        ranks = np.unique(labels)
        counts = pd.crosstab(splits, labels).reindex(index=order, columns=ranks)
        rows = [[split, *map(str, row), str(sum(row))] for split, row in zip(order, counts.to_numpy(), strict=True)]
        return table(["split", *map(str, ranks), "all"], rows)
    targets = pd.DataFrame(labels)
    header = [f"{column} {what}" for column in targets for what in ("lowest", "mean", "highest")]
    rows = []
    for split in order:
        some = targets[splits == split]
        amounts = some.agg(["min", "mean", "max"]).to_numpy().T.reshape(-1)
        rows.append([split, str(len(some)), *(f"{amount:.2f}" for amount in amounts)])
    return table(["split", "samples", *header], rows)
