"""Read labelled volumes: a folder of NIfTI files or DICOM series with a labels.csv, and UK Biobank's layout."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ordinate.data.file_formats import DICOM, IMAGE_SUFFIXES, LABELS
from ordinate.data.file_tree import FileTree
from ordinate.data.labelled import Labelled, require_filled
from ordinate.data.labels_file import (
    Columns,
    has_labels_file,
    labelled_by,
    listed_names,
    path_column,
    read_labels_file,
    read_listed,
)
from ordinate.data.paths import walk
from ordinate.data.volumes.dicom_series import is_series
from ordinate.data.volumes.voxels import SUFFIXES, VolumeFiles
from ordinate.errors import OrdinateError

T1_IN_MNI = "T1/T1_brain_to_MNI.nii.gz"  # The zips of field 20252 hold this file.


def holds_volumes(path: str | Path) -> bool:
    """Return whether a path is to be read as volumes: a folder whose first image is a NIfTI file or a DICOM slice.

    DICOM files are slices if the labels.csv names folders, or, without one, if a folder below holds those of a series.
    """
    for folder, below, files in walk(Path(path)):
        below.sort()
        for name in sorted(files):
            if not name.startswith(".") and name.lower().endswith((*SUFFIXES, *IMAGE_SUFFIXES)):
                return name.lower().endswith(SUFFIXES) or (
                    name.lower().endswith(DICOM) and folder != Path(path) and _are_slices(Path(path), folder)
                )
    return False


def _are_slices(path: Path, folder: Path) -> bool:
    """Return whether the DICOM files below a path, of which a folder holds some, are slices of volumes."""
    tree = FileTree.of(path)
    if not has_labels_file(tree):
        return is_series(folder)
    frame = read_labels_file(tree, "volumes")
    column = path_column(frame) or str(frame.columns[0])
    first = read_labels_file(tree, "volumes", (column,))[column].iloc[0]
    return (path / str(first)).is_dir()


def _tree_of_volumes(path: str | Path) -> FileTree:
    """List a folder, in which each folder of DICOM slices counts as one file."""
    tree = FileTree.of(path)
    slices = set(tree.ending_in(DICOM))
    folders = {name.rpartition("/")[0] for name in slices}
    return replace(tree, names=tuple(sorted((folders | set(tree.names) - slices) - {""})))


def read_volumes(path: str | Path, left_out: Callable[[str], None] | None = None) -> VolumeFiles:
    """Return the volumes of a folder without labels: those that its labels.csv names, or all there are.

    ``left_out`` gets the reason for every file that it names and that is not there, which is an error without it.
    """
    tree = _tree_of_volumes(path)
    if has_labels_file(tree):
        frame = read_labels_file(tree, "volumes")
        if path_column(frame) is not None:
            return _files(tree, listed_names(tree, "volumes", left_out))
        if subject_column(frame) is not None:
            return _of_subjects(Path(path), frame)[0]
    names = [name for name in tree.names if name.lower().endswith(SUFFIXES) or Path(tree.where(name)).is_dir()]
    if not names:
        raise OrdinateError(path, problem=f"holds no volume ({', '.join(SUFFIXES)}, or a folder of DICOM slices)")
    return _files(tree, names)


def read_labelled_volumes(
    path: str | Path, columns: Columns = Columns(), *, skip_unreadable: bool | None = None
) -> Labelled:
    """Read a folder of labelled volumes; errors name the way out.

    Its ``labels.csv`` names the NIfTI files, or folders of DICOM slices, and their labels, as
    :func:`~ordinate.data.labels_file.labelled_by` says; or it names subjects, and the folder is laid out as
    :func:`read_ukbiobank` says.

    Args:
        path: Folder.
        columns: Columns of the label and of more.
        skip_unreadable: Whether volumes that are not there are left out; None raises an error that names no way out.
    """
    if not (Path(path) / LABELS).is_file():
        raise OrdinateError(path, expected=f"a {LABELS} that names the volumes (path) or subjects, and their labels")
    tree = _tree_of_volumes(path)
    frame = read_labels_file(tree, "volumes")
    if subject_column(frame) is not None and path_column(frame) is None:
        return read_ukbiobank(path, columns)
    listed = read_listed(tree, "volumes", skip_unreadable)
    return listed.labelled(_files(tree, listed.names), columns)


def read_ukbiobank(path: str | Path, columns: Columns = Columns()) -> Labelled:
    """Read T1 volumes of UK Biobank, as SupReMix trains on (B.1.4, with ``VolumeOptions(size=100, spacing=2.0)``).

    Assumed is the bulk field 20252 ("T1 structural brain images, NIFTI"), each zip unpacked into a folder of its own:
    ``1234567_20252_2_0/T1/T1_brain_to_MNI.nii.gz``, or ``1234567/T1/...``, the brain in MNI space at 1 mm; and a
    ``labels.csv`` next to these folders with a column ``subject`` or ``eid``, which is the group, and one of the label,
    by default ``age``. UK Biobank gives the data to approved researchers: apply at https://www.ukbiobank.ac.uk.

    Returns:
        One volume per row of labels.csv, whether its file is there or not: reading names those that are not.
    """
    frame = read_labels_file(FileTree.of(path), "volumes")
    volumes, subject = _of_subjects(Path(path), frame)
    columns = replace(columns, target=columns.target or "age", group=columns.group or subject)
    return labelled_by(volumes, frame, Path(path) / LABELS, columns)


def _files(tree: FileTree, names: list[str]) -> VolumeFiles:
    return VolumeFiles(tree.where(name) for name in names)


def _of_subjects(path: Path, frame: pd.DataFrame) -> tuple[VolumeFiles, str]:
    """Return a volume per subject, and the column of subjects."""
    column = subject_column(frame)
    if column is None:
        raise OrdinateError(path / LABELS, expected="a column of subjects, 'subject' or 'eid'")
    require_filled(frame[column], path / LABELS, "subject")
    subjects = frame[column].astype(str)
    elsewhere = subjects[subjects.isin([".", ".."]) | subjects.str.contains(r"[/\\\0]")]
    if len(elsewhere):
        raise OrdinateError(path / LABELS, f"the subject {elsewhere.iloc[0]!r}", "the name of a folder next to it")
    paths = []
    for subject in subjects:
        folder = path / subject
        if not folder.is_dir():
            folder = path / f"{subject}_20252_2_0"  # The zip of a subject's first imaging visit has this name.
        paths.append(folder / T1_IN_MNI)
    return VolumeFiles(paths), column


def subject_column(frame: pd.DataFrame) -> str | None:
    """Return the column of a labels.csv that names UK Biobank's subjects; None if there is none."""
    return next((name for name in ("subject", "eid") if name in frame), None)
