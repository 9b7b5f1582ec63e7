"""Samples that look mislabelled: their neighbours in the embedding agree on another label."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from ordinate.errors import OrdinateError
from ordinate.report.page.contents import Contents

NEIGHBOURS = 10
AGREEING = 0.8  # share of the neighbours that have to agree on another rank
DEVIATIONS = 3.0  # from the neighbours' median, in robust deviations, from which a target is suspected
COLUMNS = ("row", "label", "suggested", "suspicion")


def nearest(embeddings: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return (n, k), the other samples nearest to each, the nearest first; fewer columns where there are fewer."""
    count = min(k, len(embeddings) - 1)
    machine = NearestNeighbors(n_neighbors=count).fit(embeddings)
    return np.asarray(machine.kneighbors(return_distance=False), dtype=np.int64)


def find_suspects(contents: Contents, neighbours: NDArray[np.int64]) -> pd.DataFrame:
    """Return the suspects, worst first: their row, label, the label that was expected, and the suspicion, 0 to 1.

    Ranks: the share of the neighbours that agree on one other rank, where that is at least 8 of 10 of them; of equal
    shares the rank farther off is worse. Targets: how far the label is from the neighbours' median, where that is
    more than three robust deviations, 1 for the farthest.
    """
    near = contents.true[neighbours]
    if contents.names:
        suggested, suspicion, distance = _disagreeing(contents.true, near, len(contents.names))
        kept = suspicion >= AGREEING
    else:
        suggested = np.median(near, axis=1)
        distance = np.abs(suggested - contents.true)
        suspicion = distance / max(float(distance.max()), 1e-300)
        spread = 1.4826 * float(np.median(distance))
        kept = distance > DEVIATIONS * spread
    rows = np.flatnonzero(kept)
    rows = rows[np.lexsort((rows, -distance[rows], -suspicion[rows]))]
    labels, names = ([contents.label_name(label) for label in values[rows]] for values in (contents.true, suggested))
    return pd.DataFrame({"row": rows, "label": labels, "suggested": names, "suspicion": suspicion[rows].round(4)})


def check_suspects(suspects: pd.DataFrame, samples: int) -> pd.DataFrame:
    """Return a table of suspects made elsewhere, its columns in order."""
    absent = [name for name in COLUMNS if name not in suspects]
    if absent:
        raise OrdinateError(f"suspects: lacks the columns {', '.join(absent)}, takes {', '.join(COLUMNS)}")
    rows = suspects["row"].to_numpy()
    if rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < samples):
        raise OrdinateError(f"suspects: got rows that are none of the samples, takes numbers from 0 to {samples - 1}")
    return suspects[list(COLUMNS)].reset_index(drop=True)


def _disagreeing(
    ranks: NDArray[np.int64], near: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """The rank other than its own that most neighbours have, their share, and how far it is."""
    votes = np.zeros((len(ranks), count))
    np.add.at(votes, (np.arange(len(ranks))[:, None], near), 1 / near.shape[1])
    votes[np.arange(len(ranks)), ranks] = -1
    suggested = votes.argmax(axis=1)
    return suggested, votes.max(axis=1), np.abs(suggested - ranks)
