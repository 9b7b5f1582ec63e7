"""Runs of a benchmark, each kept in a file of results as soon as it has ended, so that none runs twice."""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

Run = dict[str, Any]


def parser_of(script: str, description: str | None, *, seeds: int, jobs: int = 2) -> argparse.ArgumentParser:
    """Return a parser with ``--seeds``, ``--jobs`` and ``--results``.

    Args:
        script: Path of the script, after which the file of results is named.
        description: Docstring of the script.
        seeds: Default number of seeds.
        jobs: Default number of processes.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=seeds, help="number of seeds (%(default)s)")
    parser.add_argument("--jobs", type=int, default=jobs, help="number of processes (%(default)s)")
    parser.add_argument("--results", type=Path, default=results_of(script), help="file of results (%(default)s)")
    return parser


def results_of(script: str) -> Path:
    """Return the file of results of a script."""
    return Path(script).parent / "results" / f"{Path(script).stem}.json"


def read(file: Path) -> Any:
    """Return the content of a file of results, an empty list if there is none."""
    return json.loads(file.read_text()) if file.exists() else []


def write(file: Path, content: Any) -> None:
    """Write a file of results, whole or not at all."""
    pending = file.with_suffix(".tmp")
    pending.write_text(json.dumps(content, indent=1) + "\n")
    pending.replace(file)


def complete(
    measure: Callable[..., Run], wanted: Iterable[Sequence[Any]], keys: Sequence[str], options: argparse.Namespace
) -> list[Run]:
    """Measure what the file of results lacks, and return all runs.

    Args:
        measure: Function that takes the values of a run and returns its figures.
        wanted: Values of all runs.
        keys: Names of these values, under which they are kept with the figures.
        options: Options of :func:`parser_of`.
    """
    done = {tuple(run[key] for key in keys) for run in read(options.results)}
    missing = [tuple(values) for values in wanted if tuple(values) not in done]
    finished = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(_timed)(measure, values, keys) for values in missing
    )
    for number, run in enumerate(finished, start=1):
        # Another process may have added runs in the meantime.
        runs = sorted([*read(options.results), run], key=lambda each: [str(each[key]) for key in keys])
        write(options.results, runs)
        print(f"{number}/{len(missing)}", *(run[key] for key in keys), f"{run['seconds']} s", flush=True)
    return read(options.results)


def _timed(measure: Callable[..., Run], values: Sequence[Any], keys: Sequence[str]) -> Run:
    start = time.perf_counter()
    figures = measure(*values)
    return {**dict(zip(keys, values, strict=True)), "seconds": round(time.perf_counter() - start, 1), **figures}


def where(runs: Iterable[Run], **values: Any) -> list[Run]:
    """Return the runs that have these values."""
    return [run for run in runs if all(run[key] == value for key, value in values.items())]


def spread(runs: Iterable[Run], key: str, form: str = ".2f") -> str:
    """Return the mean and the standard deviation of a figure over the runs that have it, as text."""
    values = [run[key] for run in runs if key in run]
    return f"{np.mean(values):{form}} ± {np.std(values):{form}}" if values else ""
