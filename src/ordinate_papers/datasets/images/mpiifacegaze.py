"""MPIIFaceGaze: the direction of gaze of fifteen people at their laptops."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.labelled import Labelled
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.images.layout import Layout


def read_mpiifacegaze(root: str | Path, seed: int = 0) -> Labelled:
    """Read MPIIFaceGaze: the labels are pitch and yaw of the gaze in radians; the group the participant.

    The gaze runs from the centre of the face to the target, both in the camera's coordinates, before any
    normalisation of the image; `pitch_and_yaw` says which way is up. No participant is in two splits: as in SupCR,
    eleven train, two validate, two test, drawn by ``seed``; which ones SupCR took is not published.
    """
    layout = Layout.of(root)
    tables = layout.match(r"(?P<participant>p\d\d)/(?P=participant)\.txt", "p00 to p14, each as in p00/p00.txt")
    names: list[str] = []
    participants: list[str] = []
    gazes: list[NDArray[np.float64]] = []
    for table in tables:
        content = layout.content(table[0]).decode(errors="replace")
        lines = [line.split() for line in content.splitlines() if line.strip()]
        gazes.append(_gazes(lines, layout.path / table[0]))
        names += [f"{table['participant']}/{line[0]}" for line in lines]
        participants += [table["participant"]] * len(lines)
    groups = pd.Series(participants, name="participant")
    return Labelled(
        layout.files(layout.locate(names, "the annotations")),
        pd.DataFrame(pitch_and_yaw(np.concatenate(gazes)), columns=["pitch", "yaw"]),
        groups.map(_splits(sorted(set(participants)), seed)).rename("split"),
        groups,
    )


def pitch_and_yaw(gaze: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the angles of gaze vectors in a camera's coordinates (x right, y down, z away from the camera).

    Args:
        gaze: (n, 3), of any length above 0.

    Returns:
        (n, 2) radians: both 0 straight into the camera, pitch above 0 upwards, yaw above 0 to the image's left.

    Example:
        >>> np.degrees(pitch_and_yaw(np.array([[0.0, 0.0, -1.0], [0.0, 1.0, -1.0], [-1.0, 0.0, -1.0]]))).round()
        array([[  0.,   0.],
               [-45.,   0.],
               [  0.,  45.]])
    """
    x, y, z = -(gaze / np.linalg.norm(gaze, axis=1, keepdims=True)).T
    return np.stack([np.arcsin(y), np.arctan2(x, z)], axis=1) + 0.0  # Adding 0.0 turns minus zero into zero.


def _gazes(lines: list[list[str]], table: Path) -> NDArray[np.float64]:
    """Return the vector (n, 3) from the centre of the face to the target, of every line of an annotation.

    Between path and eye, a line has 26 numbers: screen 2, landmarks 12, head pose 6, face centre 3, gaze target 3.
    """
    try:
        numbers = np.array([line[1:27] for line in lines], dtype=np.float64).reshape(len(lines), 26)
    except ValueError as error:
        raise OrdinateError(table, problem=error, expected="lines of a path, 26 numbers and an eye") from error
    gazes = numbers[:, 23:26] - numbers[:, 20:23]
    if not np.isfinite(gazes).all() or not gazes.any(axis=1).all():
        raise OrdinateError(
            table, problem="a line has no gaze: its face centre or its target is no point, or they are one"
        )
    return gazes


def _splits(participants: list[str], seed: int) -> dict[str, str]:
    """Return the split of every participant.

    SupCR has 33,000/6,000/6,000 images: two of fifteen people for validation and two for testing.
    """
    order = np.random.default_rng(seed).permutation(participants)
    held_out = max(1, round(2 / 15 * len(order)))
    splits = ["test"] * held_out + ["validation"] * held_out + ["train"] * len(order)
    return dict(zip(order.tolist(), splits, strict=False))
