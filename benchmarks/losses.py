"""Measure time and peak memory of each loss, forward and backward, against the size of the batch.

    python benchmarks/losses.py [--losses supcr mmnp] [--sizes 512 1024] [--dim 128] [--dtype float32] [--device cpu]

Each loss is compared with the loop that its authors published (published_losses.py), with SupConLoss and
TripletMarginLoss of pytorch-metric-learning, and with the three n x n x d matrix products that an exact loss needs.
Times are medians of interleaved runs. A baseline stops at the size at which a pass is expected to take too much time
or memory. The results and a log-log picture are written after each size.
"""

import argparse
import ctypes
import gc
import json
import math
import multiprocessing
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

import published_losses as published
from ordinate import __version__
from ordinate.functional import angular_triangle, mmnp, supcr, supremix
from ordinate.report.text import table

ROOT = Path(__file__).parents[1]
RANKS = 5
LARGEST_TARGET = 100.0
WARM_UP = 64  # A pass over at most so many samples reuses the memory of the warm-up, which hides its peak.
LOSSES = ("supcr", "mmnp", "supremix", "angular_triangle")
SUPCON = "SupConLoss"
TRIPLET = "TripletMarginLoss"
PRODUCTS = "matrix products"
COLUMNS = {
    "n": "n",
    "milliseconds": "ms",
    "mebibytes": "MiB",
    "published_time": "published / ours",
    "published_memory": "in memory",
    "to_supcon": "ours / SupCon",
    "to_triplet": "ours / Triplet",
    "to_products": "ours / products",
}

Run = dict[str, Any]


@dataclass(frozen=True)
class Contender:
    """A scalar loss of embeddings and labels.

    Args:
        loss: Function of embeddings (n, d) and labels (n,).
        ranks: Whether the labels are ranks; otherwise they are targets.
        cubic: Whether time or memory grow faster than the n x n matrix.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    ranks: bool
    cubic: bool = False


def matrix_products(embeddings: Tensor, _: Tensor, block: int = 1024) -> Tensor:
    """Compute three n x n x d products: the Gram matrix, and a gradient for its rows and one for its columns."""
    with torch.no_grad():
        gradient = torch.zeros_like(embeddings)
        for start in range(0, len(embeddings), block):
            rows = slice(start, start + block)
            gram = embeddings[rows] @ embeddings.T
            gradient[rows] += gram @ embeddings
            gradient += gram.T @ embeddings[rows]
    return (gradient * embeddings).sum()


def our_supremix(embeddings: Tensor, labels: Tensor, neg_mix: Tensor | None = None) -> Tensor:
    """Return SupReMix as the mean over positives and anchors."""
    return supremix(embeddings, labels, temperature=0.5, window=window(labels), neg_mix=neg_mix, reduction="mean")


def window(labels: Tensor, neighbours: int = 8) -> float:
    """Return the window of SupReMix that holds about 8 samples on each side of an anchor."""
    return LARGEST_TARGET * neighbours / len(labels)


def margins(embeddings: Tensor) -> Tensor:
    """Return equal margins (C-1,)."""
    return embeddings.new_full((RANKS - 1,), 0.75)


def metric_learning(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a loss of pytorch-metric-learning, which is imported when the loss is first used."""

    def loss(embeddings: Tensor, labels: Tensor) -> Tensor:
        from pytorch_metric_learning import losses

        value: Tensor = getattr(losses, name)()(embeddings, labels)
        return value

    return loss


def name_of_published(loss: str) -> str:
    """Return the name of the published loop of a loss."""
    return f"{loss} published"


CONTENDERS = {
    "supcr": Contender(lambda z, y: supcr(z, y, temperature=2.0), ranks=False),
    "mmnp": Contender(lambda z, y: mmnp(z, y, margins(z)), ranks=True),
    "supremix": Contender(our_supremix, ranks=False),
    "angular_triangle": Contender(lambda z, y: angular_triangle(z, y, RANKS), ranks=True),
    "supcr published": Contender(lambda z, y: published.supcr(z, y, 2.0), ranks=False, cubic=True),
    "mmnp published": Contender(lambda z, y: published.mmnp(z, y, margins(z)), ranks=True, cubic=True),
    "supremix published": Contender(lambda z, y: published.supremix(z, y, 0.5, window(y)), ranks=False, cubic=True),
    "angular_triangle published": Contender(
        lambda z, y: published.angular_triangle(z, y, RANKS), ranks=True, cubic=True
    ),
    SUPCON: Contender(metric_learning(SUPCON), ranks=True),
    TRIPLET: Contender(metric_learning(TRIPLET), ranks=True, cubic=True),
    PRODUCTS: Contender(matrix_products, ranks=True),
}


def contenders_of(losses: Sequence[str]) -> list[str]:
    """Return the names of the losses and of their baselines; pytorch-metric-learning's only where it is installed."""
    metric_learning = [SUPCON, TRIPLET] if find_spec("pytorch_metric_learning") else []
    return [*losses, *map(name_of_published, losses), *metric_learning, PRODUCTS]


@dataclass(frozen=True)
class Setting:
    """The embeddings that all contenders get."""

    dim: int
    dtype: torch.dtype
    device: str

    def draw(self, n: int, *, ranks: bool) -> tuple[Tensor, Tensor]:
        """Return embeddings that require a gradient, and ranks of equal sizes or targets uniform on 0 to 100."""
        generator = torch.Generator().manual_seed(n)
        embeddings = torch.randn(n, self.dim, generator=generator).to(self.device, self.dtype).requires_grad_()
        if ranks:
            labels = torch.randperm(n, generator=generator) % RANKS
        else:
            labels = LARGEST_TARGET * torch.rand(n, generator=generator)
        return embeddings, labels.to(self.device)


# One pass


@dataclass(frozen=True)
class Pass:
    """One forward and backward pass over n samples.

    Args:
        n: Number of samples.
        seconds: Time of the pass.
        peak_bytes: Peak memory of the pass without its inputs, None where it is not known.
    """

    n: int
    seconds: float
    peak_bytes: int | None


def first_pass(name: str, n: int, setting: Setting) -> Pass | str:
    """Run a contender once, on a CPU in a new process; return the pass, or the reason why it failed."""
    if setting.device == "cuda":
        return measured_pass(name, n, setting)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["ordinate.functional", "pytorch_metric_learning.losses"])
    threads = (torch.get_num_threads(),)
    with ProcessPoolExecutor(1, processes, torch.set_num_threads, threads) as pool:
        try:
            return pool.submit(measured_pass, name, n, setting).result()
        except BrokenProcessPool:
            return "its process was killed"


def measured_pass(name: str, n: int, setting: Setting) -> Pass | str:
    """Run a contender once in this process, after a small warm-up."""
    contender = CONTENDERS[name]
    try:
        seconds_of(contender, *setting.draw(WARM_UP, ranks=contender.ranks))
        embeddings, labels = setting.draw(n, ranks=contender.ranks)
        seconds, peak = with_peak(lambda: seconds_of(contender, embeddings, labels), setting.device)
    except RuntimeError as error:
        # Memory was too small, or PyTorch has no kernel for the dtype.
        return str(error).splitlines()[0]
    return Pass(n, seconds, peak if n > WARM_UP else None)


def seconds_of(contender: Contender, embeddings: Tensor, labels: Tensor) -> float:
    """Return the time of forward and backward into a fresh gradient; a GPU measures it with its own clock."""
    embeddings.grad = None
    if not embeddings.is_cuda:
        begin = perf_counter()
        contender.loss(embeddings, labels).backward()
        return perf_counter() - begin
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    contender.loss(embeddings, labels).backward()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1000


def with_peak(run: Callable[[], float], device: str) -> tuple[float, int | None]:
    """Return the result of ``run``, and by how many bytes the memory grew at its peak."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        return run(), torch.cuda.max_memory_allocated() - before
    # Freed memory that the C library still holds would be used again without a change of the peak.
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    try:
        # This resets the high-water mark to the resident memory.
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return run(), None
    resident = bytes_in("/proc/self/status", "VmRSS")
    result = run()
    peak = bytes_in("/proc/self/status", "VmHWM")
    if resident is None or peak is None:
        return result, None
    return result, max(0, peak - resident)


def bytes_in(path: str, name: str) -> int | None:
    """Return the bytes of a line such as ``VmRSS: 1024 kB``, None where there is none."""
    with suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None


def available_memory(device: str) -> float:
    """Return the bytes that a contender could take, infinity where the system does not say."""
    if device == "cuda":
        torch.cuda.empty_cache()
        return float(torch.cuda.mem_get_info()[0])
    return bytes_in("/proc/meminfo", "MemAvailable") or math.inf


# All sizes


@dataclass
class Climb:
    """The passes of one contender over growing batches, and why it stopped.

    Args:
        name: Name of the contender.
        setting: Embeddings of the passes.
        longest: Largest time in seconds of a pass of a cubic contender.
        largest: Largest memory in bytes of a pass of a cubic contender.
        passes: Passes so far.
        stopped: Reason why it went no further.
    """

    name: str
    setting: Setting
    longest: float = 20.0
    largest: float = 8 * 2.0**30
    passes: list[Pass] = field(default_factory=list)
    stopped: str | None = None

    def reach(self, n: int, first: int = 128) -> bool:
        """Double the batch up to n samples; return False if a pass takes more than the limits or the memory allow."""
        while self.stopped is None and (not self.passes or self.passes[-1].n < n):
            size = min(n, 2 * self.passes[-1].n) if self.passes else min(n, first)
            result = self.obstacle(size) or first_pass(self.name, size, self.setting)
            if isinstance(result, Pass):
                self.passes.append(result)
            else:
                self.stopped = f"n = {size}: {result}"
        return self.stopped is None

    def settle(self, seconds: float) -> None:
        """Replace the time of the last pass, which was the first of its process, by the median of many."""
        self.passes[-1] = replace(self.passes[-1], seconds=seconds)

    def obstacle(self, n: int) -> str | None:
        """Return why the contender cannot reach n samples, as far as its last pass tells.

        Time and memory grow with n², those of a cubic contender with n³.
        """
        if not self.passes:
            return None
        last, cubic = self.passes[-1], CONTENDERS[self.name].cubic
        growth = (n / last.n) ** (3 if cubic else 2)
        largest = 0.9 * available_memory(self.setting.device)
        if cubic:
            largest = min(self.largest, largest)
            seconds = last.seconds * growth
            if seconds > self.longest:
                return f"a pass takes about {seconds:.0f} s, more than {self.longest:.0f} s"
        if last.peak_bytes is not None and last.peak_bytes * growth > largest:
            peak = last.peak_bytes * growth / 2**30
            return f"a pass takes about {peak:.1f} GiB, more than {largest / 2**30:.1f} GiB"
        return None


def rounds(names: Sequence[str], n: int, setting: Setting, repeats: int) -> dict[str, list[float]]:
    """Return the seconds of ``repeats`` passes of each contender, which take turns after a warm-up of each."""
    batches = {ranks: setting.draw(n, ranks=ranks) for ranks in (False, True)}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(1 + repeats):
        for name in names:
            contender = CONTENDERS[name]
            seconds[name].append(seconds_of(contender, *batches[contender.ranks]))
    return {name: times[1:] for name, times in seconds.items()}


def runs_at(n: int, climbs: Sequence[Climb], losses: Sequence[str], repeats: int) -> list[Run]:
    """Measure all contenders that reach n samples, if at least one of the losses does."""
    racing = [climb for climb in climbs if climb.reach(n)]
    if not any(climb.name in losses for climb in racing):
        return []
    seconds = rounds([climb.name for climb in racing], n, racing[0].setting, repeats)
    runs = []
    for climb in racing:
        climb.settle(median(seconds[climb.name]))
        run = {"contender": climb.name, "n": n, "seconds": seconds[climb.name]}
        runs.append(run | {"median_seconds": climb.passes[-1].seconds, "peak_bytes": climb.passes[-1].peak_bytes})
    return runs


# Results


def figures_of(loss: str, runs: Sequence[Run]) -> list[dict[str, float | None]]:
    """Return one row per size for a loss, with None for values that were not measured."""
    rows = []
    for ours in (run for run in runs if run["contender"] == loss):
        others = {run["contender"]: run for run in runs if run["n"] == ours["n"]}
        loop = others.get(name_of_published(loss), {})
        row = {
            "n": ours["n"],
            "milliseconds": 1e3 * ours["median_seconds"],
            "mebibytes": ratio(ours["peak_bytes"], 2**20),
            "published_time": ratio(loop.get("median_seconds"), ours["median_seconds"]),
            "published_memory": ratio(loop.get("peak_bytes"), ours["peak_bytes"]),
        }
        for column, name in (("to_supcon", SUPCON), ("to_triplet", TRIPLET), ("to_products", PRODUCTS)):
            row[column] = ratio(ours["median_seconds"], others.get(name, {}).get("median_seconds"))
        rows.append(row)
    return rows


def ratio(amount: float | None, to: float | None) -> float | None:
    """Return ``amount / to``, None where one of them is not known."""
    return amount / to if amount and to else None


def draw_picture(runs: Sequence[Run], losses: Sequence[str], path: Path) -> None:
    """Draw time and memory of each contender against n; published loops are dashed, other baselines grey."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9.4, 5.2), layout="constrained")
    for axes, title, key, unit in (
        (panels[0], "Time, s", "median_seconds", 1.0),
        (panels[1], "Peak memory, MiB", "peak_bytes", 2.0**20),
    ):
        for name in dict.fromkeys(run["contender"] for run in runs):
            points = [(run["n"], run[key] / unit) for run in runs if run["contender"] == name and run[key]]
            loss = name.split()[0]
            style = {"color": "0.5", "linestyle": ":"}
            if loss in losses:
                style = {"color": f"C{losses.index(loss)}", "linestyle": "-" if name == loss else "--"}
            marker = {SUPCON: "s", TRIPLET: "^", PRODUCTS: "x"}.get(name, "o")
            if points:
                axes.loglog(*zip(*points, strict=True), label=name, marker=marker, markersize=4, **style)
                axes.set_xscale("log", base=2)
        axes.set(title=title, xlabel="samples in the batch, n")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def machine(device: str) -> dict[str, Any]:
    """Return a description of the machine."""
    name = platform.processor() or platform.machine()
    if device == "cuda":
        name = torch.cuda.get_device_name()
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    return {"device": name, "threads": torch.get_num_threads(), "system": platform.platform(), **versions}


def cell(value: float | None) -> str:
    """Return the text of a value in the printed table."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def measure(
    losses: Sequence[str],
    sizes: Sequence[int],
    setting: Setting,
    repeats: int,
    results: Path,
    picture: Path,
    longest: float = 20.0,
) -> dict[str, Any]:
    """Measure the losses and their baselines at all sizes, write the results after each, and return them."""
    dtype = str(setting.dtype).removeprefix("torch.")
    settings = {"losses": losses, "sizes": sizes, "dim": setting.dim, "dtype": dtype, "repeats": repeats}
    found: dict[str, Any] = {"command": "benchmarks/losses.py", "version": __version__}
    found |= {"machine": machine(setting.device), "settings": settings}
    climbs = [Climb(name, setting, longest=longest) for name in contenders_of(losses)]
    runs: list[Run] = []
    for n in sizes:
        print(f"n = {n}", flush=True)
        runs += runs_at(n, climbs, losses, repeats)
        found["figures"] = {loss: figures_of(loss, runs) for loss in losses}
        found["stopped"] = {climb.name: climb.stopped for climb in climbs if climb.stopped is not None}
        found["runs"] = runs
        results.write_text(json.dumps(found, indent=1) + "\n")
        draw_picture(runs, losses, picture)
    return found


def main() -> None:
    """Measure the losses and print one table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=LOSSES, metavar="LOSS", help=", ".join(LOSSES))
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="128, doubled to 16384 (GPU: to 131072)")
    parser.add_argument("--dim", type=int, default=128, help="number of dimensions (%(default)s)")
    parser.add_argument("--dtype", choices=("float32", "float64", "bfloat16"), default="float32")
    parser.add_argument("--device", choices=("cpu", "cuda"), default=device)
    parser.add_argument("--repeats", type=int, default=5, help="number of interleaved runs (%(default)s)")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "bench.json")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "bench.png")
    options = parser.parse_args()
    powers = range(7, 18) if options.device == "cuda" else range(7, 15)
    sizes = sorted(options.sizes or (2**power for power in powers))
    setting = Setting(options.dim, getattr(torch, options.dtype), options.device)
    found = measure(options.losses, sizes, setting, options.repeats, options.results, options.picture)
    for loss, rows in found["figures"].items():
        cells = [[cell(row[column]) for column in COLUMNS] for row in rows]
        print(f"\n{loss}\n{table(list(COLUMNS.values()), cells)}")
    for name, reason in found["stopped"].items():
        print(f"{name} stops before {reason}")


if __name__ == "__main__":
    main()
