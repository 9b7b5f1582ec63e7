"""``ordinate table``: the tables of the papers, the state of their runs, and their figures compared with ours."""

import textwrap
from pathlib import Path
from typing import Any

from ordinate.counts import counted
from ordinate_papers.commands.options import TableCommandOptions
from ordinate_papers.tables.catalogue import CATALOGUE, find
from ordinate_papers.tables.pictures import write
from ordinate_papers.tables.rendering import FilledTable, as_text
from ordinate_papers.tables.results import ResultsFile
from ordinate_papers.tables.table import RunPlan, Table
from ordinate_papers.tables.tuning import tuned
from ordinate_papers.tables.workers import complete


def table(**given: Any) -> None:
    """List the tables, or complete one and show it."""
    options = TableCommandOptions(**given)
    options.check()
    results = ResultsFile(options.results)
    if options.name is None:
        _list(options.seeds, options.quick, results)
        return
    chosen = find(options.name)
    if options.dataset:
        chosen = chosen.on(options.dataset)
    plan = chosen.plan(options.seeds, quick=options.quick)
    if options.dry_run:
        _show_what_is_there(chosen, plan, results)
        return
    filled = _complete(chosen, plan, results, options)
    print(as_text(filled))
    for path in write(filled, Path(options.out)):
        print(path)


def _show_what_is_there(chosen: Table, plan: RunPlan, results: ResultsFile) -> None:
    known = results.read(plan.all_runs)
    finished = sum(result.state != "waiting" for result in known.values())
    print(as_text(FilledTable(chosen, plan, known)))
    print(f"{counted(len(known), 'run')} can run here; {finished} of them have, {len(known) - finished} are to be done")


def _complete(chosen: Table, plan: RunPlan, results: ResultsFile, options: TableCommandOptions) -> FilledTable:
    from ordinate_papers.tables.execute import execute  # It imports all that trains, which the list does not need.

    if options.tune is not None:
        plan = tuned(plan, options.tune, execute, results, jobs=options.jobs)
    found = complete(plan.all_runs, execute, results, jobs=options.jobs, retry_failed=options.retry_failed)
    return FilledTable(chosen, plan, found)


def _list(seeds: int, quick: bool, results: ResultsFile, *, width: int = 140) -> None:
    plans = {name: chosen.plan(seeds, quick=quick) for name, chosen in CATALOGUE.items()}
    known = results.read({run for plan in plans.values() for run in plan.all_runs})
    lines = [("name", "here", "runs", "done", "title, and the data sets it needs")]
    for name, chosen in CATALOGUE.items():
        runs = plans[name].all_runs
        cells = len(chosen.rows) * len(chosen.columns)
        done = sum(known[run].state == "done" for run in runs)
        title = chosen.title
        if chosen.datasets:
            title += f" ({', '.join(chosen.datasets)})"
        lines.append((name, f"{len(plans[name].runs)}/{cells}", str(len(runs)), str(done), title))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    for line in lines:
        numbers = map(str.rjust, line[1:4], widths[1:])
        head = line[0].ljust(widths[0]) + "  ".join(["", *numbers, ""])
        print(textwrap.fill(line[4], width, initial_indent=head, subsequent_indent=" " * len(head)))
    print(
        f"\nhere: cells that can be computed with the data in $ORDINATE_DATA; runs: runs of these cells with "
        f"{counted(seeds, 'seed')}; done: finished runs in {results.path}.\nordinate table NAME completes one; "
        "--dry-run shows what is there and what is missing; --dataset compares its models on other data."
    )
