"""Reading the EEG of TUAB (Temple University Hospital's abnormal corpus), on which SupCR predicts ages."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy.typing import NDArray
from tqdm import tqdm

from ordinate.checks import check_positive
from ordinate.data.labelled import Labelled
from ordinate.data.series.matrices import require_readable_series
from ordinate.data.ts_files import stack_series
from ordinate.errors import OrdinateError
from ordinate.optional import optional

CHANNELS = (
    "FP1", "FP2", "F7", "F3", "FZ", "F4", "F8", "A1", "T3", "C3", "CZ", "C4", "T4", "A2", "T5", "P3", "PZ", "P4", "T6",
    "O1", "O2",
)  # fmt: skip


def holds_recordings(path: str | Path) -> bool:
    """Return whether a path is a folder with EDF files in it, and none of labels."""
    return Path(path).is_dir() and not (Path(path) / "labels.csv").exists() and any(_files(Path(path)))


def read_tuab(
    path: str | Path,
    *,
    split: str = "paper",
    start: float = 60.0,
    seconds: float | None = 60.0,
    sampling_rate: float = 200.0,
    seed: int = 0,
    skip_unreadable: bool = False,
    progress: bool = False,
) -> Labelled:
    """Read the recordings of the subjects without a pathology, with their ages.

    TUAB is given to those who apply at https://isip.piconepress.com/projects/nedc/html/tuh_eeg. Its folders say
    ``train`` or ``eval``, ``normal`` or ``abnormal``, and ``01_tcp_ar``; a file's name starts with the subject,
    and its header holds the age.

    From SupCR (Section 4): recordings without a pathology alone, 21 channels, 200 Hz, 1,385 recordings of as many
    subjects, 1,246 of them to train and 139 to test. It does not say which, so a tenth of the subjects is drawn here.
    Chosen here, as the paper says nothing: a subject's first file; the 19 electrodes of the 10-20 system and the two
    ears as the channels; the second minute, as the first is often spent on setting up; microvolts, unfiltered.
    Training draws random crops of it: ``SeriesOptions(crop=...)``.

    Args:
        path: Folder of the corpus, or one below it that holds ``train`` and ``eval``.
        split: ``"paper"`` for a tenth of the subjects to test, ``"corpus"`` for the corpus's own ``eval``.
        start: Second of a recording at which a series starts.
        seconds: Length of a series, or less where the recording ends; None uses the rest.
        sampling_rate: Rate in Hz to which recordings are resampled.
        seed: Seed of the split.
        skip_unreadable: Whether to leave out files that cannot be read.
        progress: Whether to show a progress bar.

    Returns:
        Series (n, 21, length) in microvolts, float32; their ages; whether each is to ``train`` or ``test``; and their
        subjects as groups, each with one series.

    Raises:
        OrdinateError: a folder without such recordings, or files that are damaged, shorter than ``start``, or without
            an age or one of the channels; names them. Also where MNE is not installed.
    """
    if split not in ("paper", "corpus"):
        raise OrdinateError("split", repr(split), "'paper' or 'corpus'")
    check_positive(start, "start", or_zero=True)
    check_positive(sampling_rate, "sampling_rate")
    if seconds is not None:
        check_positive(seconds, "seconds")
    files = _one_per_subject(Path(path))
    optional("mne", "eeg", "EEG")
    subjects = sorted(files)
    series, ages, failures = {}, {}, {}
    for row, subject in enumerate(tqdm(subjects, desc="reading recordings", disable=not progress, leave=False)):
        try:
            ages[row] = read_age(files[subject])
            series[row] = read_recording(files[subject], start=start, seconds=seconds, sampling_rate=sampling_rate)
        except OrdinateError as error:
            failures[row] = str(error)
    require_readable_series(failures, path, len(subjects), skip_unreadable=skip_unreadable)
    if split == "paper":
        held_out = np.random.default_rng(seed).permutation(len(subjects))[: math.ceil(0.1 * len(subjects))]
        tested = set(held_out.tolist())
    else:
        tested = {row for row, subject in enumerate(subjects) if "eval" in _below(files[subject], path)}
    return Labelled(
        stack_series(list(series.values())),
        pd.Series([ages[row] for row in series], name="age"),
        pd.Series(["test" if row in tested else "train" for row in series], name="split"),
        pd.Series([subjects[row] for row in series], name="group"),
        paths=np.array([str(files[subjects[row]]) for row in series]),
        left_out=tuple(failures.values()),
    )


def read_age(path: str | Path) -> int:
    """Return the age that the header of an EDF file gives, as TUAB writes it: ``Age:57``.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".edf") as file:
        ...     _ = file.write(b"0       aaaaaaaa F 01-JAN-1950 aaaaaaaa Age:57".ljust(256))
        ...     file.flush()
        ...     read_age(file.name)
        57
    """
    try:
        with Path(path).open("rb") as file:
            header = file.read(88)
    except OSError as error:
        raise OrdinateError(path, problem=error.strerror) from error
    age = re.search(rb"Age:\s*(\d+)", header[8:], re.IGNORECASE)  # The 8 bytes before the patient are a version.
    if age is None:
        raise OrdinateError(path, problem="its header has no age", expected="Age:YEARS in the patient's field")
    return int(age[1])


def read_recording(
    path: str | Path, *, start: float = 0.0, seconds: float | None = None, sampling_rate: float = 200.0
) -> Float[np.ndarray, "21 t"]:
    """Return the 21 channels of an EDF file in microvolts, in the order of ``CHANNELS``, resampled to a rate in Hz.

    Electrodes are found by their name, such as ``EEG FP1-REF`` or ``Fp1``. The series starts ``start`` seconds into the
    recording, and lasts ``seconds``, or to its end.

    Raises:
        OrdinateError: a file that cannot be read, lacks a channel, or ends before ``start``; names it. Also where MNE
            is not installed.
    """
    mne = optional("mne", "eeg", "EEG")
    with _reading(path):
        raw = mne.io.read_raw_edf(path, preload=False, verbose="ERROR")
    named: dict[str, str] = {}
    for name in raw.ch_names:
        electrode = re.fullmatch(r"(?:EEG )?([A-Z]+[0-9]*)(?:-(?:REF|LE|AR))?", name.strip(), re.IGNORECASE)
        if electrode is not None:
            named.setdefault(electrode[1].upper(), name)
    missing = [channel for channel in CHANNELS if channel not in named]
    if missing:
        raise OrdinateError(path, problem=f"has no channel {', '.join(missing)}", expected="the 21 of TUAB")
    duration = raw.n_times / raw.info["sfreq"]
    if duration <= start:
        raise OrdinateError(
            path, problem=f"lasts {duration:g} s", expected=f"more than the {start:g} s before the series"
        )
    end = duration if seconds is None else min(start + seconds, duration)
    with _reading(path):
        raw.pick([named[channel] for channel in CHANNELS]).reorder_channels([named[channel] for channel in CHANNELS])
        raw.crop(start, end, include_tmax=False).load_data(verbose="ERROR")
        if raw.info["sfreq"] != sampling_rate:
            raw.resample(sampling_rate, method="polyphase", verbose="ERROR")  # The Fourier method would shift time.
        values: NDArray[np.float32] = (1e6 * raw.get_data()).astype(np.float32)  # MNE's unit is the volt.
    return values


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    """Name the file in whatever MNE makes of a damaged one, which is errors of many kinds."""
    try:
        yield
    except Exception as error:
        reason = str(error).strip() or type(error).__name__
        raise OrdinateError(path, problem=f"could not be read: {reason.splitlines()[0]}") from error


def _one_per_subject(path: Path) -> dict[str, Path]:
    """Return the first recording without a pathology of every subject."""
    if not path.is_dir():
        raise OrdinateError(path, problem="no such folder")
    files: dict[str, Path] = {}
    for file in sorted(file for file in _files(path) if "normal" in _below(file, path)):
        files.setdefault(file.name.split("_")[0], file)
    if not files:
        raise OrdinateError(path, problem="holds no EDF file in a folder 'normal'", expected="TUAB's train and eval")
    return files


def _files(path: Path) -> Iterator[Path]:
    return (file for file in path.rglob("*") if file.suffix.lower() == ".edf" and not file.name.startswith("."))


def _below(file: Path, path: str | Path) -> tuple[str, ...]:
    return file.relative_to(path).parts[:-1]
