"""``ordinate leaderboard``: the leaderboards, what of them can run here, and how all models stand."""

import os
from pathlib import Path
from typing import Any

from ordinate import __version__
from ordinate.errors import OrdinateError
from ordinate.optional import optional
from ordinate.report.text import table as aligned
from ordinate_papers.commands.options import LeaderboardOptions
from ordinate_papers.leaderboards import sets
from ordinate_papers.leaderboards.boards import BOARDS, Board, board
from ordinate_papers.leaderboards.contenders import AEON, contender, unavailable
from ordinate_papers.leaderboards.standings import Record, Standings
from ordinate_papers.tables.results import Result, ResultsDatabase
from ordinate_papers.tables.run import Run

EXECUTE = "ordinate_papers.leaderboards.execute:execute"


def leaderboard(**given: Any) -> None:
    """List the leaderboards, or complete one and show it."""
    options = LeaderboardOptions(**given)
    if options.aeon is not None:
        os.environ[AEON] = options.aeon  # where worker processes find it
    if options.name is None:
        _list()
        return
    chosen = board(options.name)
    runs, reasons = plan(chosen, options.sets, options.models, options.splits)
    for reason in reasons:
        print(reason)
    if not runs:
        raise OrdinateError("leaderboard", problem=f"nothing of {chosen.name} can run here")
    optional("matplotlib", "leaderboards", "leaderboard")  # which draws what the runs come to
    results = _results(runs, options)
    failed = [(run, result) for run, result in results.items() if result.state == "failed"]
    for run, result in failed:
        print(f"failed: {run.label}: {(result.error or '').strip().splitlines()[-1:]}")
    done = [
        Record(run.dataset, run.model, run.seed, result.metrics)
        for run, result in results.items()
        if result.state == "done"
    ]
    if done:
        from ordinate_papers.leaderboards.page import as_text, write  # these import all that draws

        standings = Standings(chosen, done)
        print(as_text(standings))
        paths = write(standings, Path(options.out))
        print(f"written to {options.out}: {', '.join(path.name for path in paths)}")
    print(f"{len(done)} of {len(runs)} runs are done, {len(failed)} failed")


def plan(chosen: Board, names: list[str], models: list[str], splits: int | None) -> tuple[list[Run], list[str]]:
    """Return the runs of a leaderboard, and why sets and models are left out.

    Args:
        chosen: the leaderboard.
        names: of sets; empty for all.
        models: by name; empty for all.
        splits: at most so many of each set.
    """
    wanted = {name: count for name, count in chosen.sets.items() if name in (names or chosen.sets)}
    missing = {name: reason for name in wanted if (reason := sets.unavailable(name))}
    contenders = [name for name in chosen.models if name in (models or chosen.models)]
    absent = {name: reason for name in contenders if (reason := unavailable(chosen.name, name))}
    runs = [
        Run(name, model, chosen.name, seed=seed, facts={**facts, **contender(chosen.name, model).facts})
        for name, count in wanted.items()
        if name not in missing
        for facts in [{"ordinate": __version__, "data": sets.digest(name)}]
        for seed in range(count if splits is None else min(splits, count))
        for model in contenders
        if model not in absent
    ]
    return runs, [*missing.values(), *absent.values()]


def _results(runs: list[Run], options: LeaderboardOptions) -> dict[Run, Result]:
    if options.dry_run and not Path(options.results).exists():
        return {run: Result("waiting", {}) for run in runs}
    with ResultsDatabase(options.results) as database:
        if options.dry_run:
            return database.results(runs)
        if options.retry_failed:
            database.retry_failed(runs)
        from ordinate_papers.tables.workers import complete

        return complete(runs, EXECUTE, database, Path(f"{options.results}-state"), options.jobs)


def _list() -> None:
    rows = []
    for name, chosen in BOARDS.items():
        here = [s for s in chosen.sets if sets.unavailable(s) is None]
        models = [m for m in chosen.models if unavailable(name, m) is None]
        rows.append([name, chosen.title, f"{len(here)}/{len(chosen.sets)}", f"{len(models)}/{len(chosen.models)}"])
    print(aligned(["name", "what it compares", "sets here", "models here"], rows))
    print("\nordinate leaderboard NAME completes one; --dry-run says what is there and what is missing")
