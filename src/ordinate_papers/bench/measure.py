"""Time and peak memory of one forward and backward pass."""

import contextlib
import ctypes
import gc
import multiprocessing
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ordinate_papers.bench.contenders import CONTENDERS, Contender, draw

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext

WARM_UP = 64  # samples; a pass over no more would hide in the memory that they leave behind
_FORKS = "forkserver" in multiprocessing.get_all_start_methods()  # not on Windows
_PROCESSES: "ForkServerContext | SpawnContext" = (
    multiprocessing.get_context("forkserver") if _FORKS else multiprocessing.get_context("spawn")
)
if _FORKS:
    _PROCESSES.set_forkserver_preload([__name__, "pytorch_metric_learning.losses"])


@dataclass(frozen=True)
class Setting:
    """What all contenders run with."""

    dim: int
    dtype: torch.dtype
    device: str

    def draw(self, n: int, *, ranks: bool) -> tuple[Tensor, Tensor]:
        """Return embeddings and labels of ``n`` samples."""
        return draw(n, self.dim, self.dtype, self.device, ranks=ranks)


@dataclass(frozen=True)
class Probe:
    """One pass over ``n`` samples: its seconds, and its peak of bytes beyond the inputs, None where not known."""

    n: int
    seconds: float
    peak_bytes: int | None


def probe(name: str, n: int, setting: Setting) -> Probe | str:
    """Run a contender once, on a CPU in a process of its own; return what it took, or why it ended."""
    if setting.device == "cuda":
        return _probe(name, n, setting)
    receiver, sender = _PROCESSES.Pipe(duplex=False)
    process = _PROCESSES.Process(target=_send_probe, args=(sender, torch.get_num_threads(), name, n, setting))
    process.start()
    sender.close()
    try:
        result: Probe | str = receiver.recv()
    except EOFError:
        process.join()
        return f"its process ended with code {process.exitcode}"
    finally:
        process.kill()
        process.join()
        receiver.close()
    return result


def _send_probe(sender: Connection, threads: int, name: str, n: int, setting: Setting) -> None:
    torch.set_num_threads(threads)
    with contextlib.suppress(KeyboardInterrupt):
        sender.send(_probe(name, n, setting))


def _probe(name: str, n: int, setting: Setting) -> Probe | str:
    contender = CONTENDERS[name]
    try:
        seconds(contender, *setting.draw(WARM_UP, ranks=contender.ranks))
        embeddings, labels = setting.draw(n, ranks=contender.ranks)
        taken, peak = _peak(lambda: seconds(contender, embeddings, labels), setting.device)
        return Probe(n, taken, peak if n > WARM_UP else None)
    except RuntimeError as error:  # out of memory, or no kernel for the dtype
        return str(error).splitlines()[0]


def seconds(contender: Contender, embeddings: Tensor, labels: Tensor) -> float:
    """Time of forward and backward into a fresh gradient, on a GPU by its own clock."""
    embeddings.grad = None
    if embeddings.is_cuda:
        return _seconds_on_gpu(lambda: contender.loss(embeddings, labels).backward())
    start = perf_counter()
    contender.loss(embeddings, labels).backward()
    return perf_counter() - start


def _seconds_on_gpu(run: Callable[[], None]) -> float:
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    torch.cuda.synchronize()
    milliseconds: float = start.elapsed_time(end)
    return milliseconds / 1000


def rounds(names: Sequence[str], n: int, setting: Setting, repeats: int) -> dict[str, list[float]]:
    """Seconds of ``repeats`` passes of each contender, in turns after a warm-up of each."""
    batches = {ranks: setting.draw(n, ranks=ranks) for ranks in (False, True)}
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(1 + repeats):
        for name in names:
            contender = CONTENDERS[name]
            taken[name].append(seconds(contender, *batches[contender.ranks]))
    return {name: times[1:] for name, times in taken.items()}


def gradient_error(name: str, n: int, setting: Setting) -> float:
    """Norm of the gradient's difference from that of the same embeddings in float64, relative to the latter's."""
    contender = CONTENDERS[name]
    embeddings, labels = setting.draw(n, ranks=contender.ranks)
    (gradient,) = torch.autograd.grad(contender.loss(embeddings, labels), embeddings)
    exact = embeddings.detach().double().requires_grad_()
    (exact_gradient,) = torch.autograd.grad(contender.loss(exact, labels), exact)
    return float((gradient - exact_gradient).norm() / exact_gradient.norm())


def available_memory(device: str) -> float:
    """Bytes that a contender could take; infinite where the system does not say."""
    if device == "cuda":
        torch.cuda.empty_cache()
        return float(torch.cuda.mem_get_info()[0])
    available = _field("/proc/meminfo", "MemAvailable")
    return float("inf") if available is None else available


def _peak(run: Callable[[], float], device: str) -> tuple[float, int | None]:
    """What ``run`` returns, and the peak of memory on the way."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        return run(), torch.cuda.max_memory_allocated() - before
    _return_free_memory()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark falls to what is resident
    except OSError:
        return run(), None
    resident = _field("/proc/self/status", "VmRSS")
    result = run()
    peak = _field("/proc/self/status", "VmHWM")
    return result, None if resident is None or peak is None else max(0, peak - resident)


def _return_free_memory() -> None:
    """Give the system what the C library holds of freed memory, which would otherwise be used again unseen."""
    gc.collect()
    with suppress(OSError, AttributeError):  # where there is no GNU C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _field(path: str, field: str) -> int | None:
    """Bytes of a line such as ``VmRSS: 1024 kB``."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), None)
