"""Measure how busy two worker processes keep two cores over a table of 100 runs of about a second.

    python benchmarks/table_runs.py [--runs 100] [--jobs 2]

Half of the runs only compute; the other half train a small CLOC on a table of 200 rows. Busy is the CPU time used
inside runs; the time that workers spend inside runs, which other work on the machine does not change, is given as well.
Both are divided by wall time times workers, start and end of everything included. Quiet is the share of the cores that
other work left free.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

from ordinate.report.text import table
from ordinate_papers.tables.results import ResultsFile
from ordinate_papers.tables.run import Run
from ordinate_papers.tables.workers import complete

RESULTS = Path(__file__).parent / "results" / "table_runs.json"


def execute(run: Run, _folder: Path) -> dict[str, float]:
    """Compute for a second, or train; return the CPU seconds used."""
    before = _cpu_seconds()
    if run.model == "cloc":
        _train(run.seed)
    else:
        while _cpu_seconds() - before < 1.0:
            sum(i * i for i in range(10_000))
    return {"cpu_seconds": _cpu_seconds() - before}


def _train(seed: int) -> None:
    import numpy as np

    from ordinate import CLOCClassifier

    generator = np.random.default_rng(seed)
    X = generator.normal(size=(200, 6))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.8, 0.0, 0.8])
    CLOCClassifier(epochs=(40, 40), random_state=seed).fit(X, y)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _idle_and_ours() -> tuple[float, float]:
    """Seconds that all cores were idle since the machine's start, and CPU seconds of this process and its children."""
    idle = sum(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[4:6])) / os.sysconf("SC_CLK_TCK")
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return idle, _cpu_seconds() + children.ru_utime + children.ru_stime


def measure(kind: str, count: int, jobs: int) -> dict[str, float | str]:
    """Return the figures of a table of one kind of runs."""
    runs = [Run("made up", kind, seed=seed) for seed in range(count)]
    idle, ours = _idle_and_ours()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        results = complete(runs, execute, ResultsFile(f"{folder}/results.jsonl"), jobs=jobs)
    wall = time.perf_counter() - started
    idle, ours = (now - before for now, before in zip(_idle_and_ours(), (idle, ours), strict=True))
    cpu = [result.metrics["cpu_seconds"] for result in results.values()]
    inside = [result.seconds or 0.0 for result in results.values()]
    return {
        "runs": kind,
        "count": count,
        "jobs": jobs,
        "wall_seconds": round(wall, 2),
        "cpu_seconds_a_run": round(sum(cpu) / count, 3),
        "busy": round(sum(cpu) / (wall * jobs), 4),
        "inside_runs": round(sum(inside) / (wall * jobs), 4),
        "quiet": round((idle + ours) / (wall * (os.cpu_count() or 1)), 4),
    }


def main() -> None:
    """Measure, print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    figures = [measure(kind, options.runs, options.jobs) for kind in ("compute", "cloc")]
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    print(table(list(figures[0]), [[str(value) for value in row.values()] for row in figures]))


if __name__ == "__main__":
    main()
