"""T1 volumes of UK Biobank."""

from dataclasses import replace
from pathlib import Path

from ordinate.data.file_tree import FileTree
from ordinate.data.labelled import Labelled, require_filled
from ordinate.data.labels_file import LABELS, Columns, labelled_by, read_labels_file
from ordinate.data.volumes.voxels import VolumeFiles
from ordinate.errors import OrdinateError

T1_IN_MNI = "T1/T1_brain_to_MNI.nii.gz"  # The zips of field 20252 hold this file.


def read_ukbiobank(path: str | Path, columns: Columns = Columns()) -> Labelled:
    """Read T1 volumes of UK Biobank, as SupReMix trains on (B.1.4, with ``VolumeOptions(size=100, spacing=2.0)``).

    Assumed is the bulk field 20252 ("T1 structural brain images, NIFTI"), each zip unpacked into a folder of its own:
    ``1234567_20252_2_0/T1/T1_brain_to_MNI.nii.gz``, or ``1234567/T1/...``, the brain in MNI space at 1 mm; and a
    ``labels.csv`` next to these folders with a column ``subject`` or ``eid``, which is the group, and one of the label,
    by default ``age``. UK Biobank gives the data to approved researchers: apply at https://www.ukbiobank.ac.uk.

    Returns:
        One volume per row of labels.csv, whether its file is there or not: reading names those that are not.
    """
    path = Path(path)
    frame = read_labels_file(FileTree.of(path), "volumes")
    column = next((name for name in ("subject", "eid") if name in frame), None)
    if column is None:
        raise OrdinateError(path / LABELS, expected="a column of subjects, 'subject' or 'eid'")
    require_filled(frame[column], path / LABELS, "subject")
    subjects = frame[column].astype(str)
    elsewhere = subjects[subjects.isin([".", ".."]) | subjects.str.contains(r"[/\\\0]")]
    if len(elsewhere):
        raise OrdinateError(path / LABELS, f"the subject {elsewhere.iloc[0]!r}", "the name of a folder next to it")
    volumes = VolumeFiles(_folder(path, subject) / T1_IN_MNI for subject in subjects)
    columns = replace(columns, target=columns.target or "age", group=columns.group or column)
    return labelled_by(volumes, frame, path / LABELS, columns)


def _folder(path: Path, subject: str) -> Path:
    """Return the folder of a subject; the zip of its first imaging visit has a longer name."""
    folder = path / subject
    return folder if folder.is_dir() else path / f"{subject}_20252_2_0"
