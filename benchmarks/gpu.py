"""What a GPU does with the library, in ten minutes; started by gpu.sh.

    bash benchmarks/gpu.sh [--out DIR] [--minutes 9] [--only SECTION ...] [--smoke]

Holds the kernels of the losses to brute force in float64; times the losses, in three dtypes up to n = 131,072, beside
SupConLoss, the published loops and the three matrix products that none can do without; trains CLOC with a ResNet-50 on
KOA (below ORDINATE_DATA; generated images where it is not there); compares two processes with one. Each section is a
process of its own with its share of the time that is left: one that fails or hangs costs the others nothing, and what
was measured is in DIR/gpu.json and DIR/gpu.md at once. Ends with 1 if a kernel is wrong, or if that is not known.

With --smoke: some of the same on a processor, with tiny sizes, the kernels in Triton's interpreter.
"""

import argparse
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from gpu_record import RESULTS, TABLE, Record, as_markdown, read, write, wrong_kernels
from ordinate import __version__

KERNELS = {"supcr": 50, "mmnp": 40, "supremix": 70, "angular_triangle": 40}  # seconds; building them takes most
PACKAGES = ("torch", "triton", "numpy", "lightning", "timm", "torchvision", "pytorch-metric-learning")
MEASURED = 0.9  # share of a section's time in which it measures; the rest is for what it began
SMALL, LARGE = (60, 100), (224, 224)  # pixels
FATAL = 20  # lines of a failed section's output that are kept


def environment(record: Record, device: str) -> None:
    """Add what the machine is, and whether the kernels can be built."""
    import torch

    from ordinate import kernels

    about = {
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine(),
        "devices": torch.cuda.device_count(),
        "GiB": torch.cuda.get_device_properties(0).total_memory / 2**30 if device == "cuda" else None,
        "capability": ".".join(map(str, torch.cuda.get_device_capability())) if device == "cuda" else None,
        "CUDA": torch.version.cuda,
        "TF32": torch.backends.cuda.matmul.allow_tf32,
        "kernels build": kernels.uses_triton(torch.zeros(1, 1, device=device)),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    for name, value in about.items():
        record.add(what=name, value=value)
    for name in PACKAGES:
        try:
            record.add(what=name, value=version(name))
        except PackageNotFoundError:
            record.add(what=name, value=None)


def kernels(record: Record, device: str, loss: str) -> None:
    """Hold the kernels of a loss to brute force."""
    from gpu_kernels import check

    check(loss, device, record, smoke=device == "cpu")


def speed(record: Record, device: str, dtype: str, dim: int) -> None:
    """Time the losses beside others."""
    import torch

    from gpu_speed import measure

    if find_spec("pytorch_metric_learning") is None:
        record.note("without SupConLoss, as pytorch-metric-learning is not installed")
    measure(dim, getattr(torch, dtype), device, record, smoke=device == "cpu")


def training(record: Record, device: str, size: tuple[int, int], precision: str) -> None:
    """Train CLOC with a ResNet-50."""
    from gpu_training import train

    workers = 0 if device == "cpu" else max(1, min(8, (os.cpu_count() or 2) - 2))
    train(size, precision, workers, record, smoke=device == "cpu")


def processes(record: Record, device: str) -> None:
    """Compare two processes with one."""
    from gpu_processes import compare

    compare(device, record)


@dataclass(frozen=True)
class Section:
    """What is measured, its part of the time in seconds of about ten minutes, and whether the smoke run has it."""

    run: Callable[[Record, str], None]
    seconds: float
    smoke: bool = True


SECTIONS = {
    "environment": Section(environment, 30),
    **{f"kernels {loss}": Section(partial(kernels, loss=loss), seconds) for loss, seconds in KERNELS.items()},
    "speed float32 d=128": Section(partial(speed, dtype="float32", dim=128), 100),
    "training 60x100 32-true": Section(partial(training, size=SMALL, precision="32-true"), 35, smoke=False),
    "training 60x100 bf16-mixed": Section(partial(training, size=SMALL, precision="bf16-mixed"), 35),
    "training 224x224 32-true": Section(partial(training, size=LARGE, precision="32-true"), 35, smoke=False),
    "training 224x224 bf16-mixed": Section(partial(training, size=LARGE, precision="bf16-mixed"), 35, smoke=False),
    "speed bfloat16 d=128": Section(partial(speed, dtype="bfloat16", dim=128), 45, smoke=False),
    "speed float16 d=128": Section(partial(speed, dtype="float16", dim=128), 35, smoke=False),
    "processes": Section(processes, 20),
    "speed float32 d=512": Section(partial(speed, dtype="float32", dim=512), 40, smoke=False),
}


def run_all(names: list[str], folder: Path, seconds: float, device: str) -> None:
    """Run the sections, each in a process of its own, with its share of the time that those before it left."""
    end = time.monotonic() + seconds
    for place, name in enumerate(names):
        share = SECTIONS[name].seconds / sum(SECTIONS[later].seconds for later in names[place:])
        limit = share * (end - time.monotonic())
        print(f"{name}: at most {limit:.0f} s", flush=True)
        failure = run_apart(name, folder, limit, device)
        results = read(folder)
        section = results["sections"].setdefault(name, {"rows": [], "notes": []})
        if failure is not None:
            section["error"] = failure
            print(failure, flush=True)
        write(folder, results)


def run_apart(name: str, folder: Path, seconds: float, device: str) -> str | None:
    """Run a section in a process of its own; return why it failed."""
    command = [sys.executable, __file__, "--section", name, "--seconds", f"{seconds:.1f}"]
    command += ["--out", str(folder), *(["--smoke"] if device == "cpu" else [])]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"ended after {seconds:.0f} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # and the processes that it started
            process.communicate()
    if process.returncode == 0:
        return None
    return "\n".join([f"ended with {process.returncode}", *output.strip().splitlines()[-FATAL:]])


def run_section(name: str, folder: Path, seconds: float, device: str) -> None:
    """Run a section in this process."""
    SECTIONS[name].run(Record(folder, name, MEASURED * seconds), device)


def main() -> int:
    """Run what is asked for, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("ordinate-gpu"), help="folder of the results (ordinate-gpu)")
    parser.add_argument("--minutes", type=float, default=9.0, help="that all may take (9)")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--smoke", action="store_true", help="tiny sizes on a processor")
    parser.add_argument("--section", choices=SECTIONS, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    device = "cpu" if options.smoke else "cuda"
    if options.section is not None:
        run_section(options.section, options.out, options.seconds, device)
        return 0

    import torch

    if not options.smoke and not torch.cuda.is_available():
        parser.error("this machine has no GPU that PyTorch knows; --smoke runs on a processor")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and the section with it
    if options.smoke:  # in the processes of the sections
        os.environ |= {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    names = options.only or [name for name, section in SECTIONS.items() if section.smoke or not options.smoke]
    options.out.mkdir(parents=True, exist_ok=True)
    title = "Smoke run on a processor" if options.smoke else f"GPU run: {torch.cuda.get_device_name()}"
    write(options.out, {"title": title, "ordinate": __version__, "minutes": options.minutes, "sections": {}})
    run_all(names, options.out, 60 * options.minutes, device)
    print(f"\n{as_markdown(read(options.out))}\nresults: {options.out / RESULTS} and {options.out / TABLE}")
    return 1 if wrong_kernels(read(options.out)) else 0


if __name__ == "__main__":
    sys.exit(main())
