"""The options of ``ordinate table``, and the checks that do not depend on the data."""

from dataclasses import dataclass, fields

from ordinate.commands.options import check_numbers, flag, option
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class TableCommandOptions:
    """The options of ``ordinate table``, under their names there."""

    name: str | None = option(None, "table or figure, such as otd-2; without it, all are listed", nargs="?")
    dataset: list[str] = option([], "compare the table's models on other data sets", nargs="+", metavar="NAME")
    seeds: int = option(3, "runs per cell, for mean and deviation (3)", least=1)
    quick: bool = option(False, "small networks and few epochs, for a CPU")
    tune: int | None = option(
        None,
        "choose every model's learning rate and weight decay first, on validation samples",
        of_runs=True, least=1, metavar="TRIALS",
    )  # fmt: skip
    jobs: int | None = option(None, "worker processes (one per core)", of_runs=True, least=1)
    results: str = option("ordinate-results.jsonl", "file that keeps the results of the runs (%(default)s)")
    dry_run: bool = option(False, "list finished and missing runs without running any", of_runs=True)
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
