"""The splits of Yang et al. (2021), balanced to validate and test on: AgeDB-DIR and IMDB-WIKI-DIR."""

import re
from pathlib import Path

from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import SPLITS
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import Layout


def read_agedb_dir(root: str | Path) -> Labelled:
    """Read AgeDB-DIR: the label is the age in years, the splits those of SupCR and SupReMix (12,208/2,140/2,140)."""
    return _read(root, "agedb.csv")


def read_imdb_wiki_dir(root: str | Path) -> Labelled:
    """Read IMDB-WIKI-DIR: the label is the age in years, the splits those of SupReMix (191,509/11,022/11,022).

    Ages reach 186: wrong labels of the original, which the papers keep.
    """
    return _read(root, "imdb_wiki.csv")


def _read(root: str | Path, table: str) -> Labelled:
    layout = Layout.of(root)
    name = layout.match(re.escape(table), f"{table} (age, path, split) next to the folders of images")[0][0]
    frame = layout.table(name, ["age", "path", "split"])
    unknown = sorted(set(frame["split"]) - set(SPLITS))
    if unknown:
        raise OrdinateError(f"{layout.path / name}", f"the split {unknown[0]!r}", "train, val and test")
    return Labelled(
        layout.files(layout.locate(frame["path"].tolist(), table)),
        layout.numbers(frame, "age", name).rename("age"),
        frame["split"].map(SPLITS),
    )
