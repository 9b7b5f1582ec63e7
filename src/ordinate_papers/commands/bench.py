"""``ordinate bench``: time and memory of the losses against the size of the batch, beside what else there is."""

import json
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import torch

from ordinate import __version__
from ordinate.errors import OrdinateError
from ordinate.report import figures
from ordinate.report.text import table
from ordinate_papers.bench.climb import Climb
from ordinate_papers.bench.contenders import PRODUCTS, SUPCON, TRIPLET, line_up, published_name
from ordinate_papers.bench.measure import Setting, gradient_error, rounds

SMALLEST = 16  # samples: every rank has positives and negatives
SIZES = {"cpu": range(7, 15), "cuda": range(7, 18)}  # powers of 2
LARGEST_EXACT = 1024  # samples up to which gradients are compared with those in float64
COMMAND = "ordinate bench"
RESULTS, PICTURE, PENDING = "results.json", "bench.png", "pending-"
COLUMNS = {
    "n": "n",
    "milliseconds": "ms",
    "mebibytes": "MiB",
    "published_time": "published / ours",
    "published_memory": "in memory",
    "to_supcon": "ours / SupCon",
    "to_triplet": "ours / Triplet",
    "to_products": "ours / products",
    "gradient_error": "gradient error",
}

Run = dict[str, Any]


def bench(
    losses: Sequence[str], sizes: Sequence[int] | None, dim: int, dtype: str, device: str, repeats: int, out: str
) -> None:
    """Measure, print a table per loss, and write figures and picture to ``out``; the options of the command line."""
    device = _device(device)
    losses = list(dict.fromkeys(losses))
    sizes = sorted(set(sizes or (2**power for power in SIZES[device])))
    for option, value, least in (("--sizes", sizes[0], SMALLEST), ("--dim", dim, 1), ("--repeats", repeats, 1)):
        if value < least:
            raise OrdinateError(option, value, f"at least {least}")
    folder = _claim(Path(out))
    machine = _machine(device)
    settings = {"losses": losses, "sizes": sizes, "dim": dim, "dtype": dtype, "repeats": repeats}
    head = {"command": COMMAND, "version": __version__, "machine": machine, "settings": settings}
    print(
        f"{machine['device']}, {machine['threads']} threads, torch {machine['torch']}; d = {dim}, {dtype}, "
        f"forward and backward, medians of {repeats} interleaved runs"
    )
    setting = Setting(dim, getattr(torch, dtype), device)
    climbs = [Climb(name, setting) for name in line_up(losses)]
    if all(climb.name != SUPCON for climb in climbs):
        print("note: without SupConLoss and TripletMarginLoss, as pytorch-metric-learning is not installed")

    runs: list[Run] = []
    measured: dict[str, Any] = {}
    try:
        for step, n in enumerate(sizes):
            racing = [climb for climb in climbs if climb.reach(n)]
            if any(climb.name in losses for climb in racing):
                end = time.localtime(time.time() + _seconds_left(racing, sizes[step:], repeats))
                print(f"n = {n}; the last n ends about {time.strftime('%H:%M:%S', end)}", file=sys.stderr, flush=True)
                seconds = rounds([climb.name for climb in racing], n, setting, repeats)
                for climb in racing:
                    climb.settle(median(seconds[climb.name]))
                runs += [_run(climb, n, seconds[climb.name], climb.name in losses) for climb in racing]
            stopped = {climb.name: climb.stopped for climb in climbs if climb.stopped is not None}
            measured = {"figures": {loss: _rows(loss, runs) for loss in losses}, "stopped": stopped, "runs": runs}
            if runs:
                _write(folder, head | measured)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped; {out} holds what was measured" if runs else "stopped") from None
    if not runs:
        raise OrdinateError("--sizes", f"{sizes[0]}, which no loss can be measured at", hint=climbs[0].stopped)
    _print(measured)
    print(f"\nfigures and picture: {out}")


def _device(device: str) -> str:
    if device == "cuda" and not torch.cuda.is_available():
        raise OrdinateError("--device", "'cuda', and this machine has no GPU", "'auto' or 'cpu'")
    return device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def _claim(folder: Path) -> Path:
    """Make the folder, or take one that is empty or holds an earlier bench and nothing else."""
    names = {RESULTS, PICTURE, PENDING + RESULTS, PENDING + PICTURE}
    if folder.exists() and not (
        folder.is_dir() and {path.name for path in folder.iterdir()} <= names and _ours(folder)
    ):
        raise OrdinateError(
            "--out",
            problem=f"{folder} holds other things",
            expected="a new or empty folder, or one of an earlier bench",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / (PENDING + RESULTS)).touch()
        (folder / (PENDING + RESULTS)).unlink()
    except OSError as error:
        raise OrdinateError("--out", problem=f"{folder} cannot be written: {error.strerror}") from error
    return folder


def _ours(folder: Path) -> bool:
    with suppress(FileNotFoundError):
        try:
            return json.loads((folder / RESULTS).read_text())["command"] == COMMAND
        except (ValueError, KeyError, TypeError):
            return False
    return not (folder / PICTURE).exists()


def _machine(device: str) -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(": ", 1)[1] for line in lines if line.startswith("model name"))
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else cpu,
        "cpu": cpu,
        "threads": torch.get_num_threads(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _seconds_left(racing: Sequence[Climb], sizes: Sequence[int], repeats: int) -> float:
    """Expected time of the passes to come: the probe, the warm-up and the repeats at every size that fits."""
    passes = [climb.seconds(n) for climb in racing for n in sizes if climb.obstacle(n) is None]
    return (2 + repeats) * sum(passes)


def _run(climb: Climb, n: int, seconds: list[float], exact: bool) -> Run:
    return {
        "contender": climb.name,
        "n": n,
        "seconds": seconds,
        "median_seconds": median(seconds),
        "peak_bytes": climb.probes[-1].peak_bytes,
        "gradient_error": gradient_error(climb.name, n, climb.setting) if exact and n <= LARGEST_EXACT else None,
    }


def _rows(loss: str, runs: Sequence[Run]) -> list[dict[str, float | None]]:
    """The figures of a loss, one row per size; None for what was not measured."""
    rows = []
    for ours in (run for run in runs if run["contender"] == loss):
        beside = {run["contender"]: run for run in runs if run["n"] == ours["n"]}
        published = beside.get(published_name(loss), {})
        seconds, peak = ours["median_seconds"], ours["peak_bytes"]
        rows.append(
            {
                "n": ours["n"],
                "milliseconds": 1e3 * seconds,
                "mebibytes": None if peak is None else peak / 2**20,
                "published_time": _ratio(published.get("median_seconds"), seconds),
                "published_memory": _ratio(published.get("peak_bytes"), peak),
                "to_supcon": _ratio(seconds, beside.get(SUPCON, {}).get("median_seconds")),
                "to_triplet": _ratio(seconds, beside.get(TRIPLET, {}).get("median_seconds")),
                "to_products": _ratio(seconds, beside.get(PRODUCTS, {}).get("median_seconds")),
                "gradient_error": ours["gradient_error"],
            }
        )
    return rows


def _ratio(amount: float | None, to: float | None) -> float | None:
    return amount / to if amount and to else None


def _write(folder: Path, results: dict[str, Any]) -> None:
    """Write both files, each whole or not at all."""
    (folder / (PENDING + RESULTS)).write_text(json.dumps(results, indent=1) + "\n")
    panels: dict[str, dict[str, list[tuple[int, float]]]] = {"Time, s": {}, "Peak memory, MiB": {}}
    for run in results["runs"]:
        amounts = (run["median_seconds"], (run["peak_bytes"] or 0) / 2**20)
        for panel, amount in zip(panels.values(), amounts, strict=True):
            if amount > 0:
                panel.setdefault(run["contender"], []).append((run["n"], amount))
    picture = figures.growth({name: panel for name, panel in panels.items() if panel}, results["settings"]["losses"])
    figures.save(picture, folder / (PENDING + PICTURE))
    for name in (RESULTS, PICTURE):
        (folder / (PENDING + name)).replace(folder / name)


def _print(measured: dict[str, Any]) -> None:
    for loss, rows in measured["figures"].items():
        cells = [[_cell(name, row[name]) for name in COLUMNS] for row in rows]
        print(f"\n{loss}\n" + table(list(COLUMNS.values()), cells))
    if measured["stopped"]:
        print()
    for name, why in measured["stopped"].items():
        print(f"note: {name} ends before {why}")


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name == "gradient_error":
        return f"{value:.1e}"
    return f"{value:.0f}" if name == "n" or value >= 100 else f"{value:.3g}"
