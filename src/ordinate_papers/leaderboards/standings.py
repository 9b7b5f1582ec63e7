"""What the runs of a leaderboard come to: means, mean ranks, the critical difference, wins and losses."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from ordinate.errors import OrdinateError
from ordinate_papers.leaderboards.boards import HIGHER_IS_BETTER, Board

LEVEL = 0.05  # of the critical difference
SECONDS = "seconds"

Figures = Mapping[str, float]


@dataclass(frozen=True)
class Record:
    """The figures of a model on a split of a set."""

    dataset: str
    model: str
    split: int
    figures: Figures


@dataclass(frozen=True)
class Ranking:
    """Mean ranks by one measure, best first.

    Args:
        measure: by which models are ranked on each set.
        sets: those on which every model of the ranking has a figure.
        ranks: mean rank over the sets by model; the mean of the places where models tie.
    """

    measure: str
    sets: Sequence[str]
    ranks: Mapping[str, float]

    @property
    def critical_difference(self) -> float:
        """The difference of mean ranks from which on two models differ, by Nemenyi's test (Demšar, JMLR 7, 2006)."""
        count = len(self.ranks)
        quantile = float(studentized_range.ppf(1 - LEVEL, count, np.inf)) / np.sqrt(2)
        return float(quantile * np.sqrt(count * (count + 1) / (6 * len(self.sets))))

    @property
    def groups(self) -> list[tuple[str, str]]:
        """The first and the last of each longest run of models that do not differ."""
        names, places = list(self.ranks), np.array(list(self.ranks.values()))
        found: list[tuple[int, int]] = []
        for first in range(len(names)):
            last = int(np.flatnonzero(places - places[first] < self.critical_difference)[-1])
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return [(names[first], names[last]) for first, last in found]


class Standings:
    """A leaderboard with the figures of its runs.

    Args:
        board: the leaderboard.
        records: one per run that is done.
    """

    def __init__(self, board: Board, records: Sequence[Record]) -> None:
        self.board = board
        self.records = records

    @cached_property
    def splits(self) -> dict[tuple[str, str], dict[int, Figures]]:
        """The figures of every split, by set and model."""
        found: dict[tuple[str, str], dict[int, Figures]] = {}
        for record in self.records:
            found.setdefault((record.dataset, record.model), {})[record.split] = record.figures
        return found

    @cached_property
    def means(self) -> dict[str, dict[str, Figures]]:
        """Means over the splits by set and model, and the published ones; of sets on which something ran."""
        found: dict[str, dict[str, Figures]] = {}
        for name in self.board.sets:
            ours = {
                model: {key: float(np.mean([of[key] for of in splits.values()])) for key in next(iter(splits.values()))}
                for (of_set, model), splits in self.splits.items()
                if of_set == name
            }
            if ours:
                found[name] = {**ours, **self.board.published.get(name, {})}
        return found

    def ranking(self, measure: str) -> Ranking | None:
        """Return the mean ranks by a measure, of the models that have it, over the sets where all of them have it."""
        having = {name: {m for m, of in models.items() if measure in of} for name, models in self.means.items()}
        models = set().union(*having.values())
        sets = [name for name, found in having.items() if found == models]
        if not sets or len(models) < 2:
            return None
        names = sorted(models)
        sign = -1 if measure in HIGHER_IS_BETTER else 1
        places = np.mean([rankdata([sign * self.means[s][name][measure] for name in names]) for s in sets], axis=0)
        return Ranking(measure, sets, dict(sorted(zip(names, places.tolist(), strict=True), key=lambda item: item[1])))

    def wins(self, ours: str, other: str, measure: str) -> tuple[int, int, int]:
        """Return on how many sets the mean of ours is better, equal and worse than that of another model."""
        sign = -1 if measure in HIGHER_IS_BETTER else 1
        pairs = [
            (models[ours][measure], models[other][measure])
            for models in self.means.values()
            if measure in models.get(ours, {}) and measure in models.get(other, {})
        ]
        signs = [int(np.sign(sign * (b - a))) for a, b in pairs]
        return signs.count(1), signs.count(0), signs.count(-1)

    def as_csv(self) -> str:
        """Return every run in a line, with every digit, as :func:`read_records` reads them."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        columns = (*self.board.measures, SECONDS)
        writer.writerow(("set", "model", "split", *columns))
        for one in sorted(self.records, key=lambda one: (one.dataset, one.model, one.split)):
            writer.writerow((one.dataset, one.model, one.split, *(repr(one.figures[name]) for name in columns)))
        return file.getvalue()


def read_records(text: str) -> list[Record]:
    """Return the runs that :meth:`Standings.as_csv` wrote."""
    rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(text)))
    try:
        return [
            Record(row.pop("set"), row.pop("model"), int(row.pop("split")), {key: float(row[key]) for key in row})
            for row in rows
        ]
    except (KeyError, ValueError, TypeError) as error:
        raise OrdinateError("runs", f"a file that lacks {error}", "what ordinate leaderboard wrote") from error
