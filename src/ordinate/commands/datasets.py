"""``ordinate datasets``: the image sets of the papers, which of them are here, and what to put where."""

import os
import textwrap

import numpy as np
import pandas as pd

from ordinate.data.image_sets.catalogue import DATA, IMAGE_SETS, ImageSet, download, find, image_set, load
from ordinate.data.labelled_images import LabelledImages
from ordinate.errors import OrdinateError
from ordinate.report.text import table

MOST_RANKS = 12  # shown a column each
WIDTH = 100  # characters of a line of text


def datasets(name: str | None, download: str | None) -> None:
    """List every set, explain one, or fetch it into a folder; the options of the command line."""
    if name is None:
        if download is not None:
            raise OrdinateError("--download: takes the name of a set before it, as in ordinate datasets retinamnist")
        _list()
    elif download is not None:
        _fetch(name, download)
    else:
        _explain(image_set(name))


def _list() -> None:
    rows = [("name", "images", "here", "label")]
    rows += [(s.name, _expected(s), _state(s.name), s.label) for s in IMAGE_SETS.values()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, images, here, label in rows:
        print(f"{name:<{widths[0]}}  {images:>{widths[1]}}  {here:<{widths[2]}}  {label}")
    unset = "" if os.environ.get(DATA) else f"; {DATA} is not set"
    print(f"\nordinate datasets NAME explains one; the sets lie in folders of their names in ${DATA}{unset}")


def _expected(chosen: ImageSet) -> str:
    return "-" if chosen.images is None else str(chosen.images)


def _state(name: str) -> str:
    if find(name) is None:
        return "not here"
    try:
        return f"here: {len(load(name))} images"
    except OrdinateError:
        return "here, unreadable"


def _fetch(name: str, folder: str) -> None:
    path = download(name, folder)
    print(f"{path}: fetched and checked; with ORDINATE_DATA={folder} it is read by its name, {name}")


def _explain(chosen: ImageSet) -> None:
    print(f"{chosen.name}: {chosen.title}")
    parts = [("label", chosen.label), ("images", _expected(chosen)), ("split", chosen.split)]
    parts += [("papers", chosen.papers), ("terms", chosen.terms), ("source", chosen.source)]
    if chosen.download is not None:
        parts.append(("fetch", f"ordinate datasets {chosen.name} --download FOLDER"))
    parts += zip(["layout", *[""] * len(chosen.layout)], chosen.layout, strict=False)
    for part, text in parts:
        print(_paragraph(f"  {part:<8}", text))
    path = find(chosen.name)
    if path is None:
        print(f"not here: put it into the folder {chosen.name} of $ORDINATE_DATA")
        return
    images = load(chosen.name)
    print(f"here: {len(images)} images in {path}")
    print(_counts(images, chosen.task))


def _paragraph(head: str, text: str) -> str:
    """Return text beside its head, addresses in one piece."""
    indent = " " * len(head)
    return textwrap.fill(
        text, WIDTH, initial_indent=head, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _counts(images: LabelledImages, task: str) -> str:
    """Return a table with a row a split: images of each rank, or the range of the target."""
    splits = pd.Series("all", index=range(len(images))) if images.splits is None else images.splits
    order = [split for split in ("train", "validation", "test") if split in set(splits)]
    order += sorted(set(splits) - set(order))
    if isinstance(images.labels, pd.Series) and task == "ranks" and images.labels.nunique() <= MOST_RANKS:
        ranks = np.unique(images.labels)
        counts = pd.crosstab(splits, images.labels).reindex(index=order, columns=ranks)
        rows = [[split, *map(str, row), str(sum(row))] for split, row in zip(order, counts.to_numpy(), strict=True)]
        return table(["split", *map(str, ranks), "all"], rows)
    targets = images.labels.to_frame() if isinstance(images.labels, pd.Series) else images.labels
    header = [f"{column} {what}" for column in targets for what in ("lowest", "mean", "highest")]
    rows = []
    for split in order:
        some = targets[splits == split]
        amounts = some.agg(["min", "mean", "max"]).to_numpy().T.reshape(-1)
        rows.append([split, str(len(some)), *(f"{amount:.2f}" for amount in amounts)])
    return table(["split", "images", *header], rows)
