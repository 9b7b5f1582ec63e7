"""How the papers' data sets are read and split for their tables, and why one cannot be used here."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import LABELS, Columns
from ordinate.data.series.matrices import holds_matrices, read_matrices
from ordinate.data.ts_files import read_ts
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.catalogue import DATA, DataSet, dataset
from ordinate_papers.datasets.drawn_ages import draw_imbalanced
from ordinate_papers.datasets.images.catalogue import find as find_images
from ordinate_papers.datasets.images.catalogue import load as load_images
from ordinate_papers.datasets.stsb_dir import COLUMNS as PAIRS
from ordinate_papers.datasets.stsb_dir import FILES as PAIR_FILES
from ordinate_papers.datasets.stsb_dir import read_stsb_dir
from ordinate_papers.datasets.tuab import holds_recordings, read_tuab
from ordinate_papers.datasets.ukbiobank import T1_IN_MNI, read_ukbiobank

GLOVE = ("glove.840B.300d.txt", "glove100_subset/*.npz")  # The paper's word vectors come first.
PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Split:
    """Rows to train, to validate (may be none) and to test on."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


SplitSamples = tuple[Any, NDArray[np.number], Split]


def unavailable(name: str) -> str | None:
    """Return why a data set cannot be used here, or None where it can.

    Example:
        >>> unavailable("airfoil") in (None, "airfoil: ORDINATE_DATA is not set", "airfoil: not in $ORDINATE_DATA")
        True
    """
    kind = dataset(name).kind
    required = {"images": ("PIL", "timm", "torchvision"), "eeg": ("mne",), "volumes": ("monai", "nibabel")}
    lacking = [package for package in required.get(kind, ()) if find_spec(package) is None]
    if lacking:
        return f"{name}: needs {', '.join(lacking)}, which pip install 'ordinate[{kind}]' adds"
    if not os.environ.get(DATA):
        return f"{name}: {DATA} is not set"
    if not files(name):
        return f"{name}: not in ${DATA}"
    if kind == "text" and word_vectors() is None:
        return f"{name}: ${DATA} holds no vectors of words, expected GloVe's as {' or '.join(GLOVE)}"
    return None


def word_vectors() -> str | None:
    """Return the file of GloVe's vectors below ``ORDINATE_DATA``, None where there is none.

    SupReMix has the 300 dimensions of ``glove.840B.300d.txt`` (B.1.3); 100 are used where these are not there.
    """
    if not os.environ.get(DATA):
        return None
    root = Path(os.environ[DATA])
    found = (file for pattern in GLOVE for file in sorted(root.glob(pattern)))
    return next((str(file.relative_to(root)) for file in found), None)


def files(name: str) -> list[Path]:
    """Return the files that hold a data set, none where it is not here."""
    chosen = dataset(name)
    return FILES.get(chosen.kind, _listed_files)(chosen)


def load(name: str, seed: int = 0, **options: object) -> SplitSamples:
    """Read a data set and split it.

    Args:
        name: Name of the data set.
        seed: Seed of the split, where the owner has none.
        options: Options of its reader, such as ``bin_size`` of clap2015.

    Returns:
        X, samples as the estimators take them; y, ranks 0..C-1 or targets (n,) or (n, p); and the split.

    Raises:
        OrdinateError: there is no such set, or it cannot be used here.
    """
    reason = unavailable(name)
    if reason is not None:
        raise OrdinateError(reason)
    return READERS[dataset(name).kind](dataset(name), seed, **options)


def digest(name: str) -> str:
    """Return what stands for a data set's files in the key of a run, empty where it is not here.

    It is made of the files' names and sizes, and of their content where that is no more than 256 MiB in all.
    """
    found = files(name)
    if not found:
        return ""
    return _digest(tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in found))


@lru_cache
def _digest(known: tuple[tuple[Path, int, int], ...]) -> str:
    whole = sum(size for _, size, _ in known) <= 256 * 2**20
    made = hashlib.sha256()
    for file, size, _ in known:
        made.update(f"{file.name}:{size}:".encode())
        if whole:
            made.update(file.read_bytes())
    return made.hexdigest()[:16]


# Where the files are


def _folder(chosen: DataSet) -> Path:
    return Path(os.environ.get(DATA, "")) / chosen.name


def _here(*names: str) -> list[Path]:
    """Return the files of these names below ``ORDINATE_DATA``, or none if one lacks."""
    paths = [Path(os.environ.get(DATA, "")) / name for name in names]
    if not all(path.is_file() for path in paths):
        return []
    return paths


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _listed_files(chosen: DataSet) -> list[Path]:
    """Return the first of the lists of files that is there in whole."""
    return next((paths for names in chosen.reading["files"] if (paths := _here(*names))), [])


def _image_files(chosen: DataSet) -> list[Path]:
    path = find_images(chosen.name)
    if path is None:
        return []
    if path.is_file():
        return [path]
    return _below(path)


def _pair_files(_: DataSet) -> list[Path]:
    """Return the authors' three files, plain or gzipped, and the vectors of words, for a run's key has them all."""
    tables = [_here(f"stsb_dir/{name}") or _here(f"stsb_dir/{name}.gz") for name in PAIR_FILES.values()]
    if not all(tables):
        return []
    vectors = word_vectors()
    return sum(tables, _here(vectors) if vectors else [])


def _folder_files(chosen: DataSet, holds: Callable[[Path], bool]) -> list[Path]:
    """Return all files of a set's folder, if it holds such data."""
    folder = _folder(chosen)
    if not holds(folder):
        return []
    return _below(folder)


def _volume_files(chosen: DataSet) -> list[Path]:
    labels, volumes = _here(f"{chosen.name}/{LABELS}"), sorted(_folder(chosen).glob(f"*/{T1_IN_MNI}"))
    if not labels or not volumes:
        return []
    return labels + volumes


FILES: Mapping[str, Callable[[DataSet], list[Path]]] = {  # Files of other kinds are listed.
    "images": _image_files,
    "text": _pair_files,
    "eeg": partial(_folder_files, holds=holds_recordings),
    "regions": partial(_folder_files, holds=holds_matrices),
    "volumes": _volume_files,
}


# How the samples are read


def _read_table(chosen: DataSet, seed: int) -> SplitSamples:
    """Read a table of UCI: numbers, codes, or text whose levels are ordered; split at random in the paper's shares."""
    frame = pd.read_csv(_listed_files(chosen)[0], index_col=False).drop(columns="split", errors="ignore")
    labels = frame.pop(chosen.reading["target"])
    ranks = {label: rank for rank, label in enumerate(chosen.reading.get("ranks", ()))}
    y: NDArray[np.number] = labels.map(ranks).to_numpy(dtype=np.int64) if ranks else labels.to_numpy(dtype=np.float64)
    for column, levels in chosen.reading.get("levels", {}).items():
        frame[column] = frame[column].astype(str).astype(pd.CategoricalDtype(levels, ordered=True))
    if chosen.reading.get("codes"):
        frame = frame.apply(lambda codes: codes.astype(pd.CategoricalDtype(sorted(codes.unique()), ordered=True)))
    order = np.random.default_rng(seed).permutation(len(y))
    return frame, y, Split(*np.split(order, _ends(chosen.reading["shares"], len(y))[:2]))


def _draw_ages(_: DataSet, seed: int) -> SplitSamples:
    """Draw the features of AgeDB-DIR's ages."""
    drawn = draw_imbalanced(seed)
    parts = (drawn.train, drawn.validation, drawn.test)
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return X, y, Split(*np.split(np.arange(len(y)), np.cumsum([len(ages) for _, ages in parts])[:2]))


def _read_series(chosen: DataSet, _: int) -> SplitSamples:
    """Read the archive's two files, or both parts in one npz."""
    paths = _listed_files(chosen)
    if len(paths) == 2:
        (X_train, y_train), (X_test, y_test) = map(read_ts, paths)
    else:
        with np.load(paths[0], allow_pickle=False) as arrays:
            X_train, y_train, X_test, y_test = (arrays[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    if X_train.shape[1:] != X_test.shape[1:]:
        raise OrdinateError(
            paths[0], problem=f"series of shape {X_train.shape[1:]} to train on and {X_test.shape[1:]} to test"
        )
    X, y = np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test])
    rows = np.arange(len(y))
    split = Split(rows[: len(y_train)], rows[:0], rows[len(y_train) :])
    return X.astype(np.float64), y.astype(np.float64), split


def _read_images(chosen: DataSet, seed: int, **options: Any) -> SplitSamples:
    """Read an image set; where it comes in folds, ``seed`` says which is held out, and draws others after five."""
    folds = chosen.reading.get("folds")
    if folds:
        options["fold"] = seed % 5
    if folds == "drawn":
        options["seed"] = seed // 5
    images = load_images(chosen.name, **options)
    split = _rows(images.splits)
    if chosen.reading.get("trains_on_validation"):
        split = Split(np.sort(np.concatenate([split.train, split.validation])), split.validation[:0], split.test)
    return images.samples, images.labels.to_numpy(), split


def _read_pairs(chosen: DataSet, _: int) -> SplitSamples:
    pairs = read_stsb_dir(_folder(chosen))
    *texts, score = PAIRS
    return pairs[texts], pairs[score].to_numpy(dtype=np.float64), _given(chosen, pairs["split"])


def _read_recordings(chosen: DataSet, seed: int, **options: Any) -> SplitSamples:
    read = read_tuab(_folder(chosen), seed=seed, **options)
    return read.samples, read.labels.to_numpy(dtype=np.float64), _given(chosen, read.splits)


def _read_ages(chosen: DataSet, seed: int, read: Callable[[Path], Labelled]) -> SplitSamples:
    """Read subjects and their ages; where ``labels.csv`` has no split, the paper's shares of the subjects are drawn."""
    found = read(_folder(chosen))
    splits = found.splits
    if splits is None:
        subjects = found.groups
        if subjects is None:
            subjects = pd.Series(range(len(found)))
        splits = _drawn(subjects, chosen.reading["shares"], seed)
    return found.samples, found.labels.to_numpy(dtype=np.float64), _given(chosen, splits)


READERS: Mapping[str, Callable[..., SplitSamples]] = {
    "table": _read_table,
    "drawn": _draw_ages,
    "series": _read_series,
    "images": _read_images,
    "text": _read_pairs,
    "eeg": _read_recordings,
    "regions": partial(_read_ages, read=lambda folder: read_matrices(folder, Columns("age"))),
    "volumes": partial(_read_ages, read=read_ukbiobank),
}


# How they are split


def _ends(shares: Sequence[float], count: int) -> NDArray[np.int64]:
    """Return where the parts of so many end."""
    return np.round(np.cumsum(shares) / sum(shares) * count).astype(np.int64)


def _drawn(subjects: pd.Series, shares: Sequence[float], seed: int) -> pd.Series:
    """Draw the part that each subject is in, all its samples together."""
    names = sorted(subjects.unique())
    places = np.random.default_rng(seed).permutation(len(names))
    drawn = dict(zip(names, np.searchsorted(_ends(shares, len(names)), places, side="right"), strict=True))
    return subjects.map(lambda subject: PARTS[drawn[subject]])


def _given(chosen: DataSet, splits: pd.Series | None) -> Split:
    """Return the split that a column of parts says."""
    found = set() if splits is None else set(splits)
    if not {"train", "test"} <= found <= set(PARTS):
        raise OrdinateError(chosen.name, f"samples in {sorted(found)}", "train, test and, optionally, validation")
    return _rows(splits)


def _rows(splits: pd.Series | None) -> Split:
    return Split(*(np.flatnonzero(splits == part) for part in PARTS))
