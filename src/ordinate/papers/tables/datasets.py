"""The data sets of the tables by name: how each is read and split, and why one cannot be used here."""

import difflib
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.labels_file import LABELS
from ordinate.data.series.eeg import holds_recordings, read_tuab
from ordinate.data.series.matrices import holds_matrices, read_matrices
from ordinate.data.series.ts_files import read_ts
from ordinate.data.volumes.labelled import T1_IN_MNI, read_ukbiobank
from ordinate.errors import OrdinateError
from ordinate.estimators.registry import Task
from ordinate.papers.datasets.images import IMAGE_SETS
from ordinate.papers.datasets.images import find as find_images
from ordinate.papers.datasets.images import load as load_images
from ordinate.papers.datasets.images.catalogue import DATA
from ordinate.papers.datasets.stsb_dir import COLUMNS as PAIRS
from ordinate.papers.datasets.stsb_dir import FILES as PAIR_FILES
from ordinate.papers.datasets.stsb_dir import read_stsb_dir
from ordinate.papers.protocols.imbalance import LABELS as AGES
from ordinate.papers.protocols.imbalance import draw_imbalanced

Rows = NDArray[np.int64]

ORDERS: Mapping[str, tuple[Any, ...]] = {
    "car": ("unacc", "acc", "good", "vgood"),
    "nursery": ("not_recom", "recommend", "very_recom", "priority", "spec_prior"),
    "hayes_roth": (1, 2, 3),
    "balance_scale": ("L", "B", "R"),
}
LEVELS: Mapping[str, Mapping[str, Sequence[str]]] = {  # of features that are text, from lowest to highest (UCI)
    "car": {
        "buying": ("low", "med", "high", "vhigh"), "maint": ("low", "med", "high", "vhigh"),
        "doors": ("2", "3", "4", "5more"), "persons": ("2", "4", "more"), "lug_boot": ("small", "med", "big"),
        "safety": ("low", "med", "high"),
    },
    "nursery": {
        "parents": ("usual", "pretentious", "great_pret"),
        "has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
        "form": ("complete", "completed", "incomplete", "foster"), "children": ("1", "2", "3", "more"),
        "housing": ("convenient", "less_conv", "critical"), "finance": ("convenient", "inconv"),
        "social": ("nonprob", "slightly_prob", "problematic"), "health": ("recommended", "priority", "not_recom"),
    },
}  # fmt: skip
SERIES = {"floodmodeling1": "FloodModeling1", "covid3month": "Covid3Month"}
TRAINS_ON_VALIDATION = ("koa", "bracs", "retinamnist")  # as CLOC does (Appendix A)
FOLDED, DRAWN_FOLDS = ("adience", "hid", "busi", "fgnet"), ("hid", "busi", "fgnet")
GLOVE = ("glove.840B.300d.txt", "glove100_subset/*.npz")  # the paper's vectors of words first
PARTS = ("train", "validation", "test")
SUPREMIX_PARTS = {  # subjects, Table 12
    "uk_biobank": (19_509, 2_434, 2_431),
    "hcp_aging": (456, 100, 100),
}
SMALL = 1 << 28  # bytes up to which all of a set goes into its digest
PACKAGES = {  # by the extra of Ordinate that brings them
    "images": ("PIL", "timm", "torchvision"),
    "eeg": ("mne",),
    "volumes": ("monai", "nibabel"),
}


@dataclass(frozen=True)
class Split:
    """Rows to train, to validate (may be none) and to test on."""

    train: Rows
    validation: Rows
    test: Rows


@dataclass(frozen=True)
class Dataset:
    """A data set of a table.

    Args:
        name: in commands and in runs.
        title: what it is.
        task: what its label is.
        unit: of the label.
        files: those that hold it, none where it is not here.
        read: from a seed and options to ``(X, y, split)``.
        extra: of Ordinate that its kind of data takes.
    """

    name: str
    title: str
    task: Task
    files: Callable[[], list[Path]] = field(repr=False)
    read: Callable[..., tuple[Any, NDArray[Any], Split]] = field(repr=False)
    unit: str = ""
    extra: Literal["", "images", "eeg", "volumes"] = ""


def dataset(name: str) -> Dataset:
    """Return a data set by its name.

    Raises:
        OrdinateError: there is none; names the nearest.
    """
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS)
        hint = f"did you mean {near[0]!r}?" if near else f"takes one of {', '.join(DATASETS)}"
        raise OrdinateError(f"dataset: got {name!r}; {hint}")
    return DATASETS[name]


def unavailable(name: str) -> str | None:
    """Return why a data set cannot be used here, or None where it can.

    Example:
        >>> unavailable("airfoil") in (None, "airfoil: ORDINATE_DATA is not set", "airfoil: not in $ORDINATE_DATA")
        True
    """
    chosen = dataset(name)
    lacking = [package for package in PACKAGES.get(chosen.extra, ()) if find_spec(package) is None]
    if lacking:
        return f"{name}: needs {', '.join(lacking)}, which pip install 'ordinate[{chosen.extra}]' adds"
    if not os.environ.get(DATA):
        return f"{name}: {DATA} is not set"
    if not chosen.files():
        return f"{name}: not in ${DATA}"
    if name == "stsb_dir" and word_vectors() is None:
        return f"{name}: ${DATA} holds no vectors of words, takes GloVe's as {' or '.join(GLOVE)}"
    return None


def word_vectors() -> str | None:
    """Return the file of GloVe's vectors below ``ORDINATE_DATA``, None where there is none.

    SupReMix has the 300 dimensions of ``glove.840B.300d.txt`` (B.1.3); 100 are taken where these are not there.
    """
    if not os.environ.get(DATA):
        return None
    root = Path(os.environ[DATA])
    found = (file for pattern in GLOVE for file in sorted(root.glob(pattern)))
    return next((str(file.relative_to(root)) for file in found), None)


def load(name: str, seed: int = 0, **options: Any) -> tuple[Any, NDArray[Any], Split]:
    """Read a data set and split it.

    Args:
        name: of the data set.
        seed: of the split, where the owner has none.
        options: of its reader, such as ``bin_size`` of clap2015.

    Returns:
        X, samples as the estimators take them; y, ranks 0..C-1 or targets (n,) or (n, p); and the split.

    Raises:
        OrdinateError: there is no such set, or it cannot be used here.
    """
    reason = unavailable(name)
    if reason is not None:
        raise OrdinateError(reason)
    return dataset(name).read(seed, **options)


def digest(name: str) -> str:
    """Return what stands for a data set's files in the key of a run, empty where it is not here.

    It is made of the files' names and sizes, and of their content where that is no more than 256 MiB in all.
    """
    files = dataset(name).files()
    return _digest(tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files)) if files else ""


@lru_cache
def _digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    whole = sum(size for _, size, _ in files) <= SMALL
    made = hashlib.sha256()
    for file, size, _ in files:
        made.update(f"{file.name}:{size}:".encode())
        if whole:
            made.update(file.read_bytes())
    return made.hexdigest()[:16]


def _here(*names: str) -> list[Path]:
    """The files of these names below ``ORDINATE_DATA``, or none if one lacks."""
    files = [Path(os.environ.get(DATA, "")) / name for name in names]
    return files if all(file.is_file() for file in files) else []


# tables of UCI


def _read_airfoil(seed: int) -> tuple[pd.DataFrame, NDArray[np.float64], Split]:
    frame = pd.read_csv(_airfoil_files()[0])
    order = np.random.default_rng(seed).permutation(len(frame))
    split = Split(order[:1203], order[1203:1353], order[1353:])  # the shares of SupReMix's Table 12
    return frame.drop(columns="sound_pressure_db"), frame["sound_pressure_db"].to_numpy(dtype=np.float64), split


def _airfoil_files() -> list[Path]:
    return _here("uci_airfoil/airfoil_self_noise.csv.gz")


def _read_imbalanced(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64], Split]:
    """The synthetic set with AgeDB-DIR's ages, its features drawn by the seed."""
    drawn = draw_imbalanced(seed)
    parts = (drawn.train, drawn.validation, drawn.test)
    ends = np.cumsum([len(y) for _, y in parts])
    train, validation, test = np.split(np.arange(ends[-1]), ends[:-1])
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]), Split(train, validation, test)


def _read_ordinal(name: str, seed: int) -> tuple[pd.DataFrame, Rows, Split]:
    frame = pd.read_csv(_ordinal_files(name)[0]).drop(columns="split", errors="ignore")
    labels = frame.pop("class")
    ranks = labels.map({label: rank for rank, label in enumerate(ORDERS[name])}).to_numpy(dtype=np.int64)
    for column, levels in LEVELS.get(name, {}).items():
        frame[column] = frame[column].astype(str).astype(pd.CategoricalDtype(list(levels), ordered=True))
    if name == "hayes_roth":  # its numbers are codes
        frame = frame.apply(lambda codes: codes.astype(pd.CategoricalDtype(sorted(codes.unique()), ordered=True)))
    order = np.random.default_rng(seed).permutation(len(ranks))
    cut = round(0.7 * len(order))
    return frame, ranks, Split(order[:cut], order[:0], order[cut:])


def _ordinal_files(name: str) -> list[Path]:
    return _here(f"uci_ordinal/{name}.csv.gz")


# time series


def _read_series(name: str, _: int) -> tuple[NDArray[np.float64], NDArray[np.float64], Split]:
    files = _series_files(name)
    if len(files) == 2:
        (X_train, y_train), (X_test, y_test) = map(read_ts, files)
    else:
        with np.load(files[0], allow_pickle=False) as arrays:
            X_train, y_train, X_test, y_test = (arrays[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    if X_train.shape[1:] != X_test.shape[1:]:
        raise OrdinateError(
            f"{files[0]}: series of shape {X_train.shape[1:]} to train on and {X_test.shape[1:]} to test"
        )
    rows = np.arange(len(y_train) + len(y_test))
    split = Split(rows[: len(y_train)], rows[:0], rows[len(y_train) :])
    X, y = np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test])
    return X.astype(np.float64), y.astype(np.float64), split


def _series_files(name: str) -> list[Path]:
    """The archive's two files, or both parts in one npz."""
    stem = f"tser/{SERIES[name]}"
    return _here(f"{stem}_TRAIN.ts", f"{stem}_TEST.ts") or _here(f"{stem}.npz")


# images


def _read_images(name: str, seed: int, **options: Any) -> tuple[Any, NDArray[Any], Split]:
    """Read an image set; where it comes in folds, ``seed`` says which is held out, and draws others after five."""
    if name in FOLDED:
        options["fold"] = seed % 5
    if name in DRAWN_FOLDS:
        options["seed"] = seed // 5
    images = load_images(name, **options)
    if images.splits is None:
        raise OrdinateError(f"{name}: has no splits, takes one that has, such as {name}_dir")
    splits = images.splits.to_numpy()
    train, validation, test = (np.flatnonzero(splits == part) for part in PARTS)
    if name in TRAINS_ON_VALIDATION:
        train, validation = np.sort(np.concatenate([train, validation])), train[:0]
    return images.samples, images.labels.to_numpy(), Split(train, validation, test)


def _image_files(name: str) -> list[Path]:
    path = find_images(name)
    if path is None:
        return []
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())


# text


def _read_pairs(_: int) -> tuple[pd.DataFrame, NDArray[np.float64], Split]:
    pairs = read_stsb_dir(_folder("stsb_dir"))
    *texts, score = PAIRS
    return pairs[texts], pairs[score].to_numpy(dtype=np.float64), _given("stsb_dir", pairs["split"])


def _pair_files() -> list[Path]:
    """The authors' three files, plain or gzipped, and the vectors of words, which stand in a run's key with them."""
    files = [_here(f"stsb_dir/{name}") or _here(f"stsb_dir/{name}.gz") for name in PAIR_FILES.values()]
    vectors = word_vectors()
    return sum(files, _here(vectors) if vectors else []) if all(files) else []


# brain signals and volumes, split by subject


def _read_recordings(seed: int, **options: Any) -> tuple[NDArray[np.floating[Any]], NDArray[np.float64], Split]:
    read = read_tuab(_folder("tuab"), seed=seed, **options)
    return read.samples, read.labels.to_numpy(dtype=np.float64), _given("tuab", read.splits)


def _read_brains(name: str, seed: int) -> tuple[Any, NDArray[np.float64], Split]:
    """Read ages and brains; where ``labels.csv`` has no split, the paper's shares of the subjects are drawn."""
    read = read_matrices(_folder(name), "age") if name == "hcp_aging" else read_ukbiobank(_folder(name))
    splits = read.splits
    if splits is None:
        subjects = pd.Series(range(len(read))) if read.groups is None else read.groups
        splits = _drawn(subjects, SUPREMIX_PARTS[name], seed)
    X = read.samples
    return X, read.labels.to_numpy(dtype=np.float64), _given(name, splits)


def _drawn(subjects: pd.Series, sizes: Sequence[int], seed: int) -> pd.Series:
    """Draw the part that each subject is in, all its samples together: so many, or these shares of what there are."""
    names = sorted(subjects.unique())
    ends = np.round(np.cumsum(sizes) / sum(sizes) * len(names)).astype(int)
    places = np.random.default_rng(seed).permutation(len(names))
    drawn = dict(zip(names, np.searchsorted(ends, places, side="right"), strict=True))
    return subjects.map(lambda subject: PARTS[drawn[subject]])


def _given(name: str, splits: pd.Series | None) -> Split:
    """Return the split that a column of parts says."""
    found = set() if splits is None else set(splits)
    if splits is None or not {"train", "test"} <= found <= set(PARTS):
        raise OrdinateError(f"{name}: its samples are in {sorted(found)}, takes train, test and, if there, validation")
    return Split(*(np.flatnonzero(splits == part) for part in PARTS))


def _recording_files() -> list[Path]:
    return _files_below("tuab") if holds_recordings(_folder("tuab")) else []


def _matrix_files() -> list[Path]:
    return _files_below("hcp_aging") if holds_matrices(_folder("hcp_aging")) else []


def _volume_files() -> list[Path]:
    labels, volumes = _here(f"uk_biobank/{LABELS}"), sorted(_folder("uk_biobank").glob(f"*/{T1_IN_MNI}"))
    return labels + volumes if labels and volumes else []


def _folder(name: str) -> Path:
    return Path(os.environ.get(DATA, "")) / name


def _files_below(name: str) -> list[Path]:
    return sorted(file for file in _folder(name).rglob("*") if file.is_file())


UNITS = {
    "agedb_dir": "years", "imdb_wiki_dir": "years", "skyfinder": "degrees", "mpiifacegaze": "radians",
}  # fmt: skip
_SETS = (
    Dataset("airfoil", "UCI airfoil self-noise", "continuous", _airfoil_files, _read_airfoil, "dB"),
    Dataset("imbalanced_ages", "synthetic features of AgeDB-DIR's ages", "continuous",
            partial(_here, str(AGES)), _read_imbalanced, "years"),
    *(
        Dataset(name, f"UCI {name.replace('_', ' ')}", "ranks", partial(_ordinal_files, name),
                partial(_read_ordinal, name))
        for name in ORDERS
    ),
    *(
        Dataset(name, f"{title}, a series of TSER", "continuous", partial(_series_files, name),
                partial(_read_series, name))
        for name, title in SERIES.items()
    ),
    *(
        Dataset(name, images.title, images.task, partial(_image_files, name), partial(_read_images, name),
                UNITS.get(name, ""), "images")
        for name, images in IMAGE_SETS.items()
        if name not in ("agedb", "imdb_wiki")  # the papers' splits are those of agedb_dir and imdb_wiki_dir
    ),
    Dataset("stsb_dir", "STS-B-DIR, pairs of sentences", "continuous", _pair_files, _read_pairs),
    Dataset("tuab", "TUAB, EEG of brains without a pathology", "continuous", _recording_files, _read_recordings,
            "years", "eeg"),
    Dataset("uk_biobank", "UK Biobank, T1 volumes of brains", "continuous", _volume_files,
            partial(_read_brains, "uk_biobank"), "years", "volumes"),
    Dataset("hcp_aging", "HCP-Aging, resting-state fMRI by brain region", "continuous", _matrix_files,
            partial(_read_brains, "hcp_aging"), "years"),
)  # fmt: skip
DATASETS = {chosen.name: chosen for chosen in _SETS}
