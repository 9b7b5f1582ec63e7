"""IMDB-WIKI: faces of people on film, with ages from the date of birth and the year of the photograph."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import Layout

NUMBERS = ("dob", "photo_taken", "face_score", "second_face_score")


def read_imdb_wiki(root: str | Path) -> Labelled:
    """Read IMDB-WIKI from its meta data: the label is the age in years; no splits.

    Kept are images with one face (a finite score above 0, and no second one) and an age from 0 to 100; the photograph
    counts as of the first of July. SupCR and SupReMix use the splits of IMDB-WIKI-DIR, see
    :mod:`~ordinate_papers.datasets.images.imbalanced_ages`.
    """
    layout = Layout.of(root)
    expected = "imdb_crop/imdb.mat and wiki_crop/wiki.mat, or one of them"
    names: list[str] = []
    ages: list[NDArray[np.int64]] = []
    for match in layout.match(r"(?P<source>imdb|wiki)_crop/(?P=source)\.mat", expected):
        paths, age = _single_faces(layout, match[0], match["source"].lower())
        names += [f"{match['source']}_crop/{path}" for path in paths]
        ages.append(age)
    return Labelled(layout.files(layout.locate(names, "the meta data")), pd.Series(np.concatenate(ages), name="age"))


def _single_faces(layout: Layout, name: str, source: str) -> tuple[list[str], NDArray[np.int64]]:
    """Return the paths and ages of the images with one face and an age that can be."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    file: Any = io.BytesIO(layout.content(name))
    try:
        meta = loadmat(file, squeeze_me=True)[source]
        born, taken, score, second = (np.atleast_1d(meta[field][()]).astype(np.float64) for field in NUMBERS)
        paths = np.atleast_1d(meta["full_path"][()])
    # Scipy raises NotImplementedError for MATLAB's version 7.3, which it does not read.
    except (KeyError, ValueError, TypeError, IndexError, NotImplementedError, MatReadError) as error:
        expected = f"{source} with the fields {', '.join(NUMBERS)} and full_path"
        raise OrdinateError(layout.path / name, problem="could not be read", expected=expected) from error
    age = ages_at(born, taken.astype(np.int64))
    kept = np.isfinite(score) & (score > 0) & ~(second > 0) & (age >= 0)
    kept &= age <= 100  # Higher ages, in years, count as wrong labels.
    return [str(path) for path in paths[kept]], age[kept]


def ages_at(born: NDArray[np.float64], year: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ages in whole years on the first of July of a year.

    Args:
        born: (n,) dates of birth as Matlab's datenum, days from the year 0.
        year: (n,).

    Example:
        >>> ages_at(np.array([719529.0, 719529.0 + 200]), np.array([2000, 2000]))  # born in January and July 1970
        array([30, 29])
    """
    days = np.floor(born).astype(np.int64) - 719529  # It is Matlab's datenum of 1970-01-01.
    # Months are counted from January 1970.
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return year - 1970 - months // 12 - (months % 12 >= 6)
