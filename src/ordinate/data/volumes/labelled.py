"""Read labelled volumes: a folder of NIfTI files or DICOM series with a labels.csv."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ordinate.data.file_formats import DICOM, IMAGE_SUFFIXES, LABELS
from ordinate.data.file_tree import FileTree
from ordinate.data.labelled import Labelled
from ordinate.data.labels_file import (
    Columns,
    listed_names,
    path_column,
    read_labels_file,
    read_listed,
)
from ordinate.data.paths import walk
from ordinate.data.volumes.dicom_series import is_series
from ordinate.data.volumes.voxels import SUFFIXES, VolumeFiles
from ordinate.errors import OrdinateError


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
    if tree.labels is None:
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
    if tree.labels is not None and path_column(read_labels_file(tree, "volumes")) is not None:
        return _files(tree, listed_names(tree, "volumes", left_out))
    names = [name for name in tree.names if name.lower().endswith(SUFFIXES) or Path(tree.where(name)).is_dir()]
    if not names:
        raise OrdinateError(path, problem=f"holds no volume ({', '.join(SUFFIXES)}, or a folder of DICOM slices)")
    return _files(tree, names)


def read_labelled_volumes(
    path: str | Path, columns: Columns = Columns(), *, skip_unreadable: bool | None = None
) -> Labelled:
    """Read a folder of labelled volumes; errors name the way out.

    Its ``labels.csv`` names the NIfTI files, or folders of DICOM slices, and their labels, as
    :func:`~ordinate.data.labels_file.labelled_by` says.

    Args:
        path: Folder.
        columns: Columns of the label and of more.
        skip_unreadable: Whether volumes that are not there are left out; None raises an error that names no way out.
    """
    if not (Path(path) / LABELS).is_file():
        raise OrdinateError(path, expected=f"a {LABELS} that names the volumes (path), and their labels")
    tree = _tree_of_volumes(path)
    listed = read_listed(tree, "volumes", skip_unreadable)
    return listed.labelled(_files(tree, listed.names), columns)


def _files(tree: FileTree, names: list[str]) -> VolumeFiles:
    return VolumeFiles(tree.where(name) for name in names)
