"""``ordinate table``: the papers' tables, which of their runs can run here, and what comes out beside the paper."""

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ordinate_papers.commands.options import TableOptions
from ordinate_papers.tables.catalogue import CATALOGUE, find
from ordinate_papers.tables.pictures import write
from ordinate_papers.tables.rendering import FilledTable, as_text
from ordinate_papers.tables.results import Result, ResultsDatabase
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.tuning import EXECUTE, tuned
from ordinate_papers.tables.workers import complete

WIDTH = 140  # characters of a line of the list


def table(**given: Any) -> None:
    """List the tables, or complete one and show it."""
    options = TableOptions(**given)
    options.check()
    results = options.results
    if options.name is None:
        _list(options.seeds, options.quick, results)
        return
    chosen = find(options.name)
    chosen = chosen.on(options.dataset) if options.dataset else chosen
    plan = chosen.plan(options.seeds, quick=options.quick)
    runs = plan.all_runs
    if options.dry_run:
        filled = FilledTable(chosen, plan, _known(runs, results))
        ended = sum(result.state in ("done", "failed") for result in filled.results.values())
        print(as_text(filled))
        print(f"{len(runs)} runs can run here; {ended} of them have, {len(runs) - ended} are to be done")
        return
    with ResultsDatabase(results) as database:
        if options.tune is not None:
            plan = tuned(plan, options.tune, database, f"{results}-state", jobs=options.jobs, ray=options.ray)
            runs = plan.all_runs
        if options.retry_failed:
            database.retry_failed(runs)
        found = complete(runs, EXECUTE, database, f"{results}-state", options.jobs, options.ray)
    filled = FilledTable(chosen, plan, found)
    print(as_text(filled))
    print("\n".join(map(str, write(filled, Path(options.out)))))


def _known(runs: Iterable[Run], results: str) -> dict[Run, Result]:
    """Return what is known of runs, without making a file that is not there."""
    if not Path(results).is_file():
        return {run: Result("waiting", {}) for run in runs}
    with ResultsDatabase(results) as database:
        return database.results(runs)


def _list(seeds: int, quick: bool, results: str) -> None:
    plans = {name: chosen.plan(seeds, quick=quick) for name, chosen in CATALOGUE.items()}
    states = _known({run for plan in plans.values() for run in plan.all_runs}, results)
    lines = [("name", "here", "runs", "done", "what it is, and what it needs")]
    for name, chosen in CATALOGUE.items():
        plan = plans[name]
        cells = sum(map(len, chosen.cells))
        done = sum(states[run].state == "done" for run in plan.all_runs)
        needs = f" ({', '.join(chosen.datasets)})" if chosen.datasets else ""
        lines.append((name, f"{len(plan.runs)}/{cells}", str(len(plan.all_runs)), str(done), f"{chosen.title}{needs}"))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    for line in lines:
        head = line[0].ljust(widths[0]) + "  ".join(["", *map(str.rjust, line[1:4], widths[1:]), ""])
        print(textwrap.fill(line[4], WIDTH, initial_indent=head, subsequent_indent=" " * len(head)))
    print(
        f"\nhere: cells that can be computed with the data in $ORDINATE_DATA; runs: of those, with {seeds} seeds; "
        f"done: in {results}.\nordinate table NAME completes one; --dry-run says what is there and what lacks; "
        "--dataset compares its models on other data."
    )
