"""The options of ``ordinate protocol`` and ``ordinate table``, and the checks that do not depend on the data."""

from dataclasses import dataclass, fields, replace
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
    "data", "target", "margin", "task", "order", "drop", "keep", "categorical", "split", "group", "unlabelled", "fold",
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


@dataclass(frozen=True)
class TableOptions:
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
    jobs: int | None = option(None, "worker processes (as many as there are cores)", of_runs=True, least=1)
    ray: str | None = option(
        None, "spread the runs over a Ray cluster: its address, auto, or local", of_runs=True, metavar="ADDRESS"
    )
    results: str = option("ordinate-results.jsonl", "file that keeps the results of the runs (%(default)s)")
    dry_run: bool = option(False, "show what is there and what is missing; run nothing", of_runs=True)
    retry_failed: bool = option(False, "run failed runs again", of_runs=True)
    out: str = option("ordinate-tables", "folder for text, CSV, Markdown and pictures (%(default)s)")

    def check(self) -> None:
        """Raise an error for an option with an impossible value, or without an effect."""
        check_numbers(self)
        if self.dry_run and self.tune is not None:
            raise OrdinateError("--tune", f"{self.tune} and --dry-run", "one of the two")
        if self.dry_run and self.retry_failed:
            raise OrdinateError(
                "--retry-failed", problem="runs them again, and --dry-run runs nothing", expected="one of the two"
            )
        if self.name is not None:
            return
        if self.dataset:
            raise OrdinateError("--dataset", expected="the name of a table before it, as in ordinate table supcr-1")
        for declared in fields(self):
            if declared.metadata.get("of_runs") and getattr(self, declared.name):
                raise OrdinateError(
                    flag(declared.name), "no table to run", "its name before, as in ordinate table supcr-1"
                )
