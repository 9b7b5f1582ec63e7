"""The leaderboards: which sets, how many splits of each, which models, by which measures."""

import csv
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from ordinate.errors import OrdinateError
from ordinate.extensions import Task

HIGHER_IS_BETTER = ("accuracy", "qwk")
SHOWN = {"mae": "MAE", "qwk": "QWK", "accuracy": "accuracy", "rps": "RPS", "rmse": "RMSE"}


@dataclass(frozen=True)
class Board:
    """A leaderboard.

    Args:
        name: in the command.
        title: what is compared.
        task: of the models.
        sets: how many splits of each data set, by its name.
        models: by their names, as :mod:`~ordinate_papers.leaderboards.contenders` builds them; ours come first.
        measures: on the test parts; the first one orders the tables.
        note: how the sets are split, and what the settings of ours were chosen on.
    """

    name: str
    title: str
    task: Task
    sets: Mapping[str, int]
    models: Sequence[str]
    measures: Sequence[str]
    note: str

    @cached_property
    def published(self) -> dict[str, dict[str, dict[str, float]]]:
        """Means that others published, by set, model and measure."""
        found: dict[str, dict[str, dict[str, float]]] = {}
        text = files("ordinate_papers.leaderboards").joinpath("published.csv").read_text("utf-8")
        for row in csv.DictReader(text.splitlines()):
            if row["board"] == self.name:
                of_model = found.setdefault(row["set"], {}).setdefault(f"{row['model']} (published)", {})
                of_model[row["measure"]] = float(row["value"])
        return found


BOOSTED = ("gradient boosting", "XGBoost", "CatBoost")
NETWORKS = ("RealMLP", "TabM")
CHOSEN_ON = (
    "The settings of the blend were chosen on inner splits of the training part of the first split of ESL, SWD, Car, "
    "diabetes, Boston and airfoil, which later splits test on in part. Errors of test parts of Car and of "
    "the four tables of UCI had been seen before the last of these choices."
)
BOARDS: Mapping[str, Board] = {
    board.name: board
    for board in (
        Board(
            "tabular-ordinal",
            "Ranks of tables",
            "ranks",
            {**dict.fromkeys(("esl", "lev", "era", "swd", "balance_scale", "car", "hayes_roth"), 30), "nursery": 3},
            ("blend", "cloc", "otd", "LogisticAT", "random forest", *BOOSTED, *NETWORKS),
            ("mae", "qwk", "accuracy", "rps"),
            "Stratified 70/30 splits with the seeds 0 to 29, as TOC-UCO describes its own; its published means are of "
            f"other draws of the same kind, and its ranked probability score is on another scale. {CHOSEN_ON}",
        ),
        Board(
            "tabular-regression",
            "Continuous targets of tables",
            "continuous",
            {"boston": 20, "concrete": 20, "energy": 20, "yacht": 20, "airfoil": 10, "diabetes": 20},
            ("blend", "supcr", "supremix", "ridge", "random forest", *BOOSTED, *NETWORKS),
            ("rmse", "mae"),
            "Four tables of UCI on their 20 published splits of 90/10, airfoil on SupReMix's shares with validation "
            f"samples among those of training, diabetes on random 70/30 splits. {CHOSEN_ON}",
        ),
        Board(
            "series",
            "Continuous targets of time series",
            "continuous",
            {"floodmodeling1": 3, "covid3month": 3},
            ("supcr", "supremix", "plain network", "training mean", "1-NN DTW", "Rocket", "MiniRocket", "MultiRocket",
             "DrCIF"),
            ("rmse",),
            "The archive's own split with three seeds of training; networks as `ordinate table` has them for these "
            "sets, with the squared error for a head; aeon's regressors with its own settings.",
        ),
    )
}  # fmt: skip


def board(name: str) -> Board:
    """Return a leaderboard.

    Raises:
        OrdinateError: there is none of this name; names the nearest.

    Example:
        >>> board("tabular-regression").measures
        ('rmse', 'mae')
    """
    if name not in BOARDS:
        near = difflib.get_close_matches(name, BOARDS)
        raise OrdinateError(
            "leaderboard", repr(name), f"one of {', '.join(BOARDS)}", f"did you mean {near[0]!r}?" if near else ""
        )
    return BOARDS[name]
