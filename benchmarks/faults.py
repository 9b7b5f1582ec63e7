"""Seed faults into the code, one at a time, and record which test catches each.

    python benchmarks/faults.py check
    ORDINATE_DATA=DIR python benchmarks/faults.py map --out MAP [-- PYTEST ARGUMENTS, such as -n 2]
    ORDINATE_DATA=DIR python benchmarks/faults.py run [--map MAP] [--fault ID ...] [--first TESTS ...] [--jobs 2]
        [--limit 600] [--again]

faults.toml holds the faults, each a change of one line. `map` runs the tests once and keeps in the folder MAP which
lines each of them executes, in the processes that it starts too. `run` plants each fault in a copy of the checkout and
runs the tests that execute its line, those of the mirrored test file first, then the fastest, up to one that fails with
the fault and passes without. A line that runs at import, or that no test was seen to execute, as compiled ones, takes
all tests that execute any line of its file. Without a map these are the files of tests that `make quick` finds nearest
to the file, after the one that caught the fault in the results, which takes less than to run all tests once, and may
miss a test that would catch the fault. --first names tests that are likely to catch it.

Outcomes: caught; survived; no test executes it (nor does any other test of the file catch it); time limit. Each is
written at once; faults that have one are skipped, unless --again.

MAP may hold several files of coverage data, in subfolders too. Its logs have the durations (of pytest's --durations=0),
its src the code that was measured: without it, that is the code that is here.
"""

import argparse
import json
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from fault_trial import Copy, Fault, read_faults
from line_map import ROOT, Lines, read_durations, read_lines, record, tests_at

sys.path.append(str(ROOT))
from tests.tools.quick import nearest  # which is no part of the package

RESULTS = ROOT / "benchmarks" / "results" / "faults.json"
NOT_COPIED = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")


def run(mapped: Path | None, faults: list[Fault], options: argparse.Namespace) -> None:
    """Seed those of the faults that have no outcome yet, and write the outcomes."""
    code = mapped if mapped is not None and (mapped / "src").is_dir() else ROOT
    known = _outcomes(options.out)
    before = {one["id"]: [one["test"].partition("::")[0]] for one in _outcomes(RESULTS).values() if one["test"]}
    chosen = [fault for fault in faults if fault.id in (options.fault or [fault.id])]
    chosen = [fault for fault in chosen if options.again or fault.id not in known]
    lines: Lines = {} if mapped is None else read_lines(mapped, {fault.place(code)[0] for fault in chosen})
    durations = {} if mapped is None else read_durations(mapped)
    copies: SimpleQueue[Copy] = SimpleQueue()

    def seed(fault: Fault) -> dict[str, Any]:
        copy = copies.get()
        try:
            executes = True
            if mapped is None:
                tests = [*before.get(fault.id, []), *nearest([fault.place()[0]])]
            else:
                tests, executes = tests_at(*fault.place(code), lines, durations)
            return copy.outcome(fault, list(dict.fromkeys([*options.first, *tests])), executes, options.limit)
        finally:
            copies.put(copy)

    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        for job in range(options.jobs):
            copies.put(Copy(Path(folder).resolve() / f"copy{job}"))
            shutil.copytree(ROOT, Path(folder) / f"copy{job}", ignore=shutil.ignore_patterns(*NOT_COPIED))
        futures = [pool.submit(seed, fault) for fault in chosen]
        try:
            for future in as_completed(futures):
                _keep(future.result(), known, faults, options.out)
        finally:
            pool.shutdown(cancel_futures=True)
    caught = sum(known[fault.id]["outcome"] == "caught" for fault in faults if fault.id in known)
    print(f"{caught} of {len(faults)} caught")


def _outcomes(path: Path) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in json.loads(path.read_text())} if path.is_file() else {}


def _keep(one: dict[str, Any], known: dict[str, dict[str, Any]], faults: list[Fault], out: Path) -> None:
    known[one["id"]] = one
    pending = out.with_suffix(".partial")
    pending.write_text(json.dumps([known[fault.id] for fault in faults if fault.id in known], indent=1) + "\n")
    pending.replace(out)
    how = f"{one['outcome']}{'' if one['test'] is None else ', ' + one['test']}"
    print(f"{one['id']}: {how}; {one['run']} of {one['selected']} tests, {one['seconds']} s", flush=True)


def main() -> None:
    """Check the faults, map the tests, or seed the faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="see that each fault can be planted")
    mapping = commands.add_parser("map", help="run the tests and record the lines that they execute")
    mapping.add_argument("--out", type=Path, required=True, help="a new folder")
    mapping.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    running = commands.add_parser("run", help="plant the faults and see which test catches each")
    running.add_argument("--map", type=Path)
    running.add_argument("--fault", nargs="+", metavar="ID", choices=[fault.id for fault in read_faults()])
    running.add_argument("--first", nargs="+", default=[], metavar="TESTS", help="files or tests to run before others")
    running.add_argument("--jobs", type=int, default=2)
    running.add_argument("--limit", type=float, default=600, help="seconds for a fault")
    running.add_argument("--out", type=Path, default=RESULTS)
    running.add_argument("--again", action="store_true", help="also seed faults that have an outcome")
    options = parser.parse_args()
    if options.command == "map":
        record(options.out, options.pytest)
    elif options.command == "run":
        run(options.map, read_faults(), options)
    else:
        print(f"{len(read_faults())} faults can be planted")


if __name__ == "__main__":
    main()
