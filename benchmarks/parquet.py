"""Measure training on a large parquet table: peak memory, and rows per second compared with a bare training loop.

    python benchmarks/parquet.py [--rows 1000000] [--repeats 3] [--threads 1]

Draws a table of 12 numbers (some skewed, some with missing values), 4 categories and a noisy target, the same each
time, into a temporary folder, and runs in processes of their own, one after the other, as often as asked:

- ``parquet``: SupCRRegressor fitted on a ParquetTable, one epoch of the encoder and one of the head;
- ``frame``: the same on the DataFrame that pandas reads;
- ``bare``: the encoder's epoch written out in PyTorch: the same network, loss and order of batches, each
  gathered by index from a float32 tensor in memory, with PyTorch's default AdamW, and without the settings
  of PyTorch that an import of Lightning changes;
- ``fused``: that loop with the fused form of AdamW, which ``fit`` has.

Rows a second are those of the encoder's epoch, its validation left out, by the clock and by the processor's time, which
whatever else runs on the machine disturbs less: the ratio is of the latter. Peak memory is the process's own, the
interpreter and its packages included; ``imports`` says what these take alone.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from pyarrow.parquet import ParquetWriter
from torch import nn

from ordinate import SupCRRegressor, Training
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.tables.features import TableFeatures
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.encoders import build_encoder
from ordinate.losses import SupCRLoss
from ordinate.methods.supcr import SupCR
from ordinate.report.text import table
from ordinate.training.optimization import Optimization, undecayed_parameters
from runs import results_of, write

TARGET = "target"
CONTENDERS = ("parquet", "frame", "bare", "fused")
LOOPS = CONTENDERS[2:]


DISTINCT = 4  # Only this many row groups of a million rows differ; longer tables repeat them.


def draw(rows: int, path: Path) -> None:
    """Write the table, a million rows at a time."""
    writer = None
    drawn: dict[tuple[int, int], pa.Table] = {}
    for start in range(0, rows, 1_000_000):
        size, seed = min(1_000_000, rows - start), start % (DISTINCT * 1_000_000)
        if (size, seed) not in drawn:
            drawn[size, seed] = pa.Table.from_pandas(_rows(size, seed))
        part = drawn[size, seed]
        writer = writer or ParquetWriter(path, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


def _rows(rows: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    signal = np.zeros(rows)
    for place in range(12):
        values = random.normal(size=rows)
        signal += np.sin((1 + place / 4) * values) / (1 + place)
        if place % 3 == 0:
            values = np.exp(values)
        if place % 4 == 1:
            values[random.random(rows) < 0.1] = np.nan
        columns[f"number_{place}"] = values
    for place, count in enumerate((2, 5, 8, 12)):
        codes = random.integers(0, count, rows)
        signal += random.normal(size=count)[codes] / 4
        columns[f"category_{place}"] = pd.Series(np.array([f"kind {code}" for code in range(count)])[codes])
    columns[TARGET] = signal + random.normal(0, 0.2, rows)
    return pd.DataFrame(columns)


def run(contender: str, path: Path) -> dict[str, float]:
    """Return the figures of one contender, measured in this process."""
    found = {"imports_gib": _peak()}
    if contender in LOOPS:
        found |= _bare(path, fused=contender == "fused")
    else:
        in_files = contender != "frame"
        X: Any = ParquetTable(path, drop=[TARGET]) if in_files else pd.read_parquet(path)
        y = ParquetTable(path)[TARGET] if in_files else X.pop(TARGET)
        found |= _fit(X, y)
    return {**found, "peak_gib": _peak()}


def _fit(X: Any, y: Any) -> dict[str, float]:
    """Return the rows a second of the encoder's epoch, the seconds of the whole fit, and the error on validation."""
    started = time.perf_counter()
    model = TimedRegressor(epochs=(1, 1), training=Training(accelerator="cpu"), random_state=0).fit(X, y)
    seconds = time.perf_counter() - started
    method: Any = model.method_
    return {
        **method.clock.rates(method.rows), "fit_seconds": seconds,
        "validation_mae": min(model.head_scores_.values()),
    }  # fmt: skip


class TimedSupCR(SupCR):
    """SupCR that times the encoder's epoch, from before its first batch to after its last."""

    def begin_epoch(self) -> None:
        if self.stage_index == 0:
            self.clock, self.rows = Clock(), 0
            self.clock.start()
        super().begin_epoch()

    def batch_loss(self, x: Any, y: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        if self.stage_index == 0:
            self.rows += len(y)
        return super().batch_loss(x, y, weights)

    def validate(self, batches: Any) -> Any:
        if self.stage_index == 0:
            self.clock.stop()
        return super().validate(batches)


class TimedRegressor(SupCRRegressor):
    """SupCRRegressor with that method."""

    method_class: type[SupCR] = TimedSupCR

    def _build_method(self, encoder: nn.Module) -> SupCR:
        method = super()._build_method(encoder)
        method.__class__ = self.method_class
        return method


def _bare(path: Path, *, fused: bool) -> dict[str, float]:
    """Return the rows a second of the loop written out."""
    frame = pd.read_parquet(path)
    y = torch.from_numpy(frame.pop(TARGET).to_numpy(np.float32))[:, None]
    features = TableFeatures.fit(frame)
    x = torch.from_numpy(features.transform(frame))
    torch.manual_seed(0)
    encoder = build_encoder("auto", (features.width,), 64, numeric=features.numeric_positions)
    loss = SupCRLoss()
    adamw = partial(torch.optim.AdamW, fused=fused)
    optimizer = Optimization(adamw, 1e-3, 1e-4).build(encoder.parameters(), undecayed_parameters(encoder))
    clock = Clock()
    clock.start()
    for batch in ShuffledBatches(len(x), 256, seed=0):
        value = loss(encoder(x[batch]), y[batch])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    clock.stop()
    return clock.rates(len(x))


class Clock:
    """Seconds by the clock, and of the processor in this process."""

    def start(self) -> None:
        self.started = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        self.seconds = time.perf_counter() - self.started[0], time.process_time() - self.started[1]

    def rates(self, rows: int) -> dict[str, float]:
        """Return rows a second."""
        return {"rows_a_second": rows / self.seconds[0], "rows_a_cpu_second": rows / self.seconds[1]}


def _peak() -> float:
    """Most memory that this process has held, in GiB."""
    # The resource module would count the memory of the process that started this one.
    return _memory("VmHWM")


def _memory(kind: str) -> float:
    """What Linux says of this process's memory, in GiB."""
    return int(re.findall(rf"{kind}:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) / 2**20


def measure(rows: int, repeats: int, threads: int) -> dict[str, Any]:
    """Return the figures of all runs, contenders taking turns, their medians and what these come to."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    runs: dict[str, list[dict[str, float]]] = {contender: [] for contender in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        draw(rows, path)
        megabytes = path.stat().st_size / 1e6
        for _ in range(repeats):
            for contender in CONTENDERS:
                runs[contender].append(_run_alone(contender, path, environment))
    medians = {
        contender: {name: statistics.median(one[name] for one in each) for name in each[0]}
        for contender, each in runs.items()
    }
    return {
        "rows": rows, "file_megabytes": round(megabytes, 1), "repeats": repeats, "threads": threads,
        "processors": os.cpu_count(), "torch": torch.__version__, "python": platform.python_version(),
        "times_the_processor_time_of": {
            loop: {
                name: round(medians[loop]["rows_a_cpu_second"] / medians[name]["rows_a_cpu_second"], 3)
                for name in CONTENDERS[:2]
            }
            for loop in LOOPS
        },
        "share_by_the_clock_of_the_speed_of": {
            loop: {
                name: round(medians[name]["rows_a_second"] / medians[loop]["rows_a_second"], 3)
                for name in CONTENDERS[:2]
            }
            for loop in LOOPS
        },
        "medians": medians, "runs": runs,
    }  # fmt: skip


def _run_alone(contender: str, path: Path, environment: dict[str, str]) -> dict[str, float]:
    """Return the figures of a contender in a process of its own."""
    command = [sys.executable, __file__, "--run", contender, str(path)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    figures: dict[str, float] = json.loads(output.splitlines()[-1])
    print(contender, json.dumps(figures), flush=True)
    return figures


def main() -> None:
    """Measure, print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of each process; one is disturbed least by others")
    parser.add_argument("--run", nargs=2, metavar=("CONTENDER", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(options.run[0], Path(options.run[1]))))
        return
    figures = measure(options.rows, options.repeats, options.threads)
    write(results_of(__file__), figures)
    rows = [
        [
            name, f"{each['rows_a_second']:,.0f}", f"{each['rows_a_cpu_second']:,.0f}", f"{each['peak_gib']:.2f}",
            f"{each['fit_seconds']:.0f}" if "fit_seconds" in each else "",
        ]
        for name, each in figures["medians"].items()
    ]  # fmt: skip
    print(table(["", "rows/s", "rows/s of CPU", "peak GiB", "fit s"], rows))
    for loop in LOOPS:
        print(f"times the processor time of {loop}: {figures['times_the_processor_time_of'][loop]}")
        print(f"share by the clock of the speed of {loop}: {figures['share_by_the_clock_of_the_speed_of'][loop]}")


if __name__ == "__main__":
    main()
