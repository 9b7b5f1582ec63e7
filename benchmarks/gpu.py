"""Measure the library on a GPU in ten minutes; started by gpu.sh.

    bash benchmarks/gpu.sh [--out DIR] [--minutes 9] [--only SECTION ...] [--smoke]

Compares the kernels of the losses with brute force in float64; times the losses in two dtypes up to n = 131,072,
compared with SupConLoss, the published loops and the three matrix products that an exact loss needs; trains CLOC with a
ResNet-50 on KOA (below ORDINATE_DATA; generated images where it is not there). Each
section is a process of its own with its share of the time that is left: one that fails or hangs costs the others
nothing. The rows that it prints are in DIR/SECTION.log and, when it has ended, in DIR/gpu.json. Ends with 1 if a kernel
is wrong, or if that is not known.

With --smoke: some of the same on a processor, with tiny sizes, the kernels in Triton's interpreter.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """The circumstances of a section.

    Args:
        device: Device, "cpu" for the smoke run.
        end: Time of the monotonic clock at which it should end.
        folder: Folder of the results.
    """

    device: str
    end: float
    folder: Path

    @property
    def smoke(self) -> bool:
        """Whether this is the smoke run."""
        return self.device == "cpu"


def environment(job: Job) -> Iterator[Row]:
    """Describe the machine, and whether the kernels can be built."""
    import torch

    from ordinate import kernels

    yield {"name": "cores", "value": os.cpu_count()}
    yield {"name": "python", "value": platform.python_version()}
    yield {"name": "torch", "value": torch.__version__}
    yield {"name": "kernels build", "value": kernels.uses_triton(torch.zeros(1, 1, device=job.device))}
    if not job.smoke:
        properties = torch.cuda.get_device_properties(0)
        yield {"name": "device", "value": properties.name}
        yield {"name": "devices", "value": torch.cuda.device_count()}
        yield {"name": "GiB", "value": properties.total_memory / 2**30}
        yield {"name": "CUDA", "value": torch.version.cuda}


def kernels(job: Job, loss: str) -> Iterator[Row]:
    """Compare the kernels of a loss with brute force."""
    from gpu_kernels import check

    return check(loss, job.device, job.end, smoke=job.smoke)


def speed(job: Job, dtype: str, dim: int) -> Iterator[Row]:
    """Time the losses and their baselines; the file of this section keeps finished measurements if it is stopped."""
    import torch

    from losses import LOSSES, Setting, measure

    sizes = [64, 128] if job.smoke else [2**power for power in range(9, 18)]
    setting = Setting(dim, getattr(torch, dtype), job.device)
    file = job.folder / f"speed-{dtype}-{dim}.json"
    found = measure(LOSSES, sizes, setting, 3, file, file.with_suffix(".png"), longest=1.0)
    for loss, rows in found["figures"].items():
        yield from ({"loss": loss, **row} for row in rows)


def training(job: Job, size: tuple[int, int], precision: str) -> Iterator[Row]:
    """Train CLOC with a ResNet-50."""
    from gpu_training import train

    workers = 0 if job.smoke else max(1, min(8, (os.cpu_count() or 2) - 2))
    yield train(size, precision, workers, job.end - time.monotonic(), smoke=job.smoke)


@dataclass(frozen=True)
class Section:
    """A measurement.

    Args:
        run: Generator of its rows.
        seconds: Part of the time, in seconds of about ten minutes.
        smoke: Whether the smoke run has it.
    """

    run: Callable[[Job], Iterator[Row]]
    seconds: float
    smoke: bool = True


SECTIONS = {
    "environment": Section(environment, 30),
    "kernels supcr": Section(partial(kernels, loss="supcr"), 50),
    "kernels mmnp": Section(partial(kernels, loss="mmnp"), 40),
    "kernels supremix": Section(partial(kernels, loss="supremix"), 70),
    "kernels angular_triangle": Section(partial(kernels, loss="angular_triangle"), 40),
    "speed float32": Section(partial(speed, dtype="float32", dim=128), 120),
    "training 60x100": Section(partial(training, size=(60, 100), precision="bf16-mixed"), 50),
    "training 224x224": Section(partial(training, size=(224, 224), precision="bf16-mixed"), 50, smoke=False),
    "speed bfloat16": Section(partial(speed, dtype="bfloat16", dim=128), 60, smoke=False),
}


def run_all(names: list[str], folder: Path, seconds: float, device: str) -> dict[str, Any]:
    """Run each section with its share of the time that those before it left, and return their rows and errors."""
    end = time.monotonic() + seconds
    results: dict[str, Any] = {}
    for place, name in enumerate(names):
        share = SECTIONS[name].seconds / sum(SECTIONS[later].seconds for later in names[place:])
        limit = share * (end - time.monotonic())
        print(f"{name}: at most {limit:.0f} s", flush=True)
        results[name] = run_apart(name, folder, limit, device)
        (folder / "gpu.json").write_text(json.dumps(results, indent=1) + "\n")
    return results


def run_apart(name: str, folder: Path, seconds: float, device: str) -> dict[str, Any]:
    """Run a section in a process of its own; return its rows, and the error if it failed."""
    command = [sys.executable, __file__, "--section", name, "--seconds", f"{seconds:.1f}", "--out", str(folder)]
    if device == "cpu":
        command.append("--smoke")
    log = folder / f"{name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        try:
            error = f"ended with {code}" if (code := process.wait(seconds)) else None
        except subprocess.TimeoutExpired:
            error = f"ended after {seconds:.0f} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # This ends the processes that it started, too.
                process.wait()
    lines = log.read_text().splitlines()
    result = {"rows": [json.loads(line) for line in lines if line.startswith('{"')], "error": error}
    if error is not None:
        print("\n".join([error, *lines[-20:]]), flush=True)
    return result


def wrong_kernels(results: dict[str, Any]) -> list[str]:
    """Return the cases in which a kernel is wrong, and the sections of kernels that did not end or ran none."""
    wrong = []
    for name, section in results.items():
        if name.startswith("kernels"):
            wrong += [f"{name}, {row['case']}, {row['dtype']}" for row in section["rows"] if not row["right"]]
            if section["error"] is not None:
                wrong.append(f"{name} failed")
            elif not any(row["rows in kernels"] for row in section["rows"]):
                wrong.append(f"{name} ran none")
    return wrong


def main() -> int:
    """Run the sections that are asked for, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("ordinate-gpu"), help="folder of the results (ordinate-gpu)")
    parser.add_argument("--minutes", type=float, default=9.0, help="time of all sections (9)")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--smoke", action="store_true", help="tiny sizes on a processor")
    parser.add_argument("--section", choices=SECTIONS, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    device = "cpu" if options.smoke else "cuda"
    if options.section is not None:
        job = Job(device, time.monotonic() + 0.9 * options.seconds, options.out)
        for row in SECTIONS[options.section].run(job):
            # A progress bar leaves its line open.
            print(f"\n{json.dumps(row)}", flush=True)
        return 0

    import torch

    if not options.smoke and not torch.cuda.is_available():
        parser.error("this machine has no GPU that PyTorch knows; --smoke runs on a processor")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # The section ends, too.
    if options.smoke:
        os.environ |= {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    names = options.only or [name for name, section in SECTIONS.items() if section.smoke or not options.smoke]
    options.out.mkdir(parents=True, exist_ok=True)
    wrong = wrong_kernels(run_all(names, options.out, 60 * options.minutes, device))
    print(f"wrong kernels: {'; '.join(wrong) or 'none'}\nresults: {options.out / 'gpu.json'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
