"""The options of ``ordinate protocol``, ``table`` and ``leaderboard``, and what they refuse whatever the data."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from shutil import which
from typing import Any, Self

from ordinate.commands.fit_options import FitOptions
from ordinate.commands.options import check_numbers, default_of, flag, option
from ordinate.errors import OrdinateError

PROTOCOLS = (
    "corruption-robustness", "epoch-time", "label-bias", "label-permutation", "reduced-data", "retrieval",
    "transfer", "unseen-targets",
)  # fmt: skip
OF_ONE = "of one protocol"
SHARED = (  # with fit
    "data", "target", "margin", "task", "order", "drop", "keep", "categorical", "split", "group", "fold",
    "test_fraction", "epochs", "encoder", "image_size", "pretrained", "skip_unreadable", "out", "seed", "quiet", "set",
)  # fmt: skip


@dataclass(frozen=True)
class ProtocolOptions:
    """The options of ``ordinate protocol`` beside those of ``ordinate fit``, under their names there."""

    method: list[str] = option([], "names as for fit (those that the paper compares)", nargs="+", metavar="METHOD")
    repeats: int = option(1, "trainings of each method, with one seed each (%(default)s)", least=1)
    sizes: list[int] = option(
        [],
        "reduced-data: training samples (1/8, 1/4, 1/2, all)",
        group=OF_ONE, only_for="reduced-data", nargs="+", metavar="N",
    )  # fmt: skip
    leave_out: list[str] = option(
        [],
        "unseen-targets: ranges left out of training",
        group=OF_ONE, only_for="unseen-targets", nargs="+", metavar="LOW:HIGH",
    )  # fmt: skip
    to: str | None = option(None, "transfer: the second data set", group=OF_ONE, only_for="transfer", metavar="DATA")
    to_target: str | None = option(
        None,
        "transfer: its label, where that has another name",
        group=OF_ONE, only_for="transfer", metavar="COLUMN",
    )  # fmt: skip
    up: float = option(0.6, "label-bias: share of A relabelled as B (%(default)s)", group=OF_ONE, only_for="label-bias")
    down: float = option(
        0.3, "label-bias: share of B relabelled as A (%(default)s)", group=OF_ONE, only_for="label-bias"
    )
    rounds: int = option(
        3, "epoch-time: trainings of each, in turns (%(default)s)", group=OF_ONE, only_for="epoch-time"
    )

    @classmethod
    def divide(cls, protocol: str, given: dict[str, Any]) -> tuple[Self, FitOptions]:
        """Return the checked options of a protocol and of ``fit`` among those given.

        Raises:
            OrdinateError: no such protocol, or options that it cannot run with.
        """
        if protocol not in PROTOCOLS:
            raise OrdinateError("protocol", repr(protocol), f"one of {', '.join(PROTOCOLS)}")
        names = {declared.name for declared in fields(cls)}
        chosen = cls(**{name: value for name, value in given.items() if name in names})
        check_numbers(chosen)
        for declared in fields(cls):
            other = declared.metadata.get("only_for", protocol)
            if other != protocol and getattr(chosen, declared.name) != default_of(declared):
                raise OrdinateError(flag(declared.name), problem=f"is for {other}, got it for {protocol}")
        if protocol == "epoch-time" and chosen.repeats > 1:
            raise OrdinateError("--repeats", f"{chosen.repeats}, and epoch-time trains each method --rounds times")
        if protocol == "transfer" and chosen.to is None:
            raise OrdinateError("--to", expected="the data set that the encoder is transferred to")
        options = FitOptions(**{name: value for name, value in given.items() if name not in names})
        if options.out is None:
            options = replace(options, out=f"{options.stem}-{protocol}")
        options.check()
        return chosen, options


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of commands whose runs are kept in a database."""

    jobs: int | None = option(None, "worker processes (as many as there are cores)", of_runs=True, least=1)
    results: str = option("ordinate-results.db", "database of the runs (%(default)s)")
    dry_run: bool = option(False, "show what is there and what is missing; run nothing", of_runs=True)
    retry_failed: bool = option(False, "run failed runs again", of_runs=True)

    def check_runs(self, command: str, example: str, name: str | None) -> None:
        """Raise where an option of runs has no effect, as there is no ``name`` of what is to run, or nothing is."""
        check_numbers(self)
        if self.dry_run and self.retry_failed:
            raise OrdinateError(
                "--retry-failed", problem="runs them again, and --dry-run runs nothing", expected="one of the two"
            )
        for declared in fields(self):
            if name is None and declared.metadata.get("of_runs") and getattr(self, declared.name):
                raise OrdinateError(
                    flag(declared.name), f"no {command} to run", f"its name before, as in ordinate {command} {example}"
                )


@dataclass(frozen=True, kw_only=True)
class TableOptions(RunOptions):
    """The options of ``ordinate table``, under their names there."""

    name: str | None = option(None, "such as otd-2; none lists them all", nargs="?")
    dataset: list[str] = option([], "compare the table's models on other data sets", nargs="+", metavar="NAME")
    seeds: int = option(3, "trainings of each cell, for mean and deviation (3)", least=1)
    quick: bool = option(False, "small networks and few epochs, for a CPU")
    tune: int | None = option(
        None,
        "choose every model's learning rate and weight decay first, on validation samples",
        of_runs=True, least=1, metavar="TRIALS",
    )  # fmt: skip
    ray: str | None = option(
        None, "spread the runs over a Ray cluster: its address, auto, or local", of_runs=True, metavar="ADDRESS"
    )
    out: str = option("ordinate-tables", "folder for text, CSV, Markdown and pictures (%(default)s)")

    def check(self) -> None:
        """Raise where an option cannot be what it is, or has no effect."""
        if self.tune is not None and self.dry_run:
            raise OrdinateError("--tune", f"{self.tune} beside --dry-run", "one of the two")
        if self.name is None and self.dataset:
            raise OrdinateError("--dataset", expected="the name of a table before it, as in ordinate table supcr-1")
        self.check_runs("table", "supcr-1", self.name)


@dataclass(frozen=True, kw_only=True)
class LeaderboardOptions(RunOptions):
    """The options of ``ordinate leaderboard``, under their names there."""

    name: str | None = option(None, "tabular-ordinal, tabular-regression or series; none lists them", nargs="?")
    sets: list[str] = option([], "some of the data sets (all that are here)", of_runs=True, nargs="+", metavar="SET")
    models: list[str] = option([], "some of the models (all that can run)", of_runs=True, nargs="+", metavar="MODEL")
    splits: int | None = option(None, "at most so many of each set", of_runs=True, least=1)
    aeon: str | None = option(
        None, "series: interpreter of an environment with aeon, for its regressors", of_runs=True, metavar="PYTHON"
    )
    out: str = option("ordinate-leaderboards", "folder for text, Markdown, CSV and picture (%(default)s)")

    def check(self) -> None:
        """Raise where an option cannot be what it is, or has no effect."""
        from ordinate_papers.leaderboards.boards import board

        self.check_runs("leaderboard", "tabular-ordinal", self.name)
        if self.name is None:
            return
        chosen = board(self.name)
        for argument, given, known in (("sets", self.sets, chosen.sets), ("models", self.models, chosen.models)):
            if unknown := [name for name in given if name not in known]:
                raise OrdinateError(flag(argument), ", ".join(unknown), f"some of {', '.join(known)}")
        if self.aeon is not None and self.name != "series":
            raise OrdinateError("--aeon", f"{self.aeon} for {self.name}", "the leaderboard series")
        if self.aeon is not None and not (Path(self.aeon).is_file() or which(self.aeon)):
            raise OrdinateError("--aeon", self.aeon, "an interpreter that is there")
