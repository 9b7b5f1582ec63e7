"""Compare the usual cost of a training step, by which images are planned, with what it takes on one core here.

    OMP_NUM_THREADS=1 python benchmarks/step_cost.py

Writes ``benchmarks/results/step_cost.json``: milliseconds of processor time per image, the least of three steps.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from ordinate.encoders.build import build_encoder
from ordinate.training.step_cost import nominal_seconds

RESULTS = Path(__file__).parent / "results" / "step_cost.json"
NETWORKS = [
    ("efficientnet_lite0", (3, 96, 128), 16),
    ("efficientnet_lite0", (3, 224, 224), 8),
    ("resnet18", (3, 128, 128), 8),
    ("resnet18", (1, 32, 32), 32),
    ("resnet10t", (1, 32, 32), 32),
    ("resnet50", (3, 128, 128), 8),
]


def least_seconds(step: Callable[[], None], repeats: int = 3) -> float:
    """Return the least processor time of several steps after one to warm up."""
    step()
    found = []
    for _ in range(repeats):
        start = time.process_time()
        step()
        found.append(time.process_time() - start)
    return min(found)


def measure(name: str, shape: tuple[int, int, int], count: int) -> dict[str, object]:
    """Return the usual and the measured milliseconds per image of a network."""
    encoder = build_encoder(name, shape, 64, small_stem=None if shape[1] < 64 else False)
    batch = torch.randint(0, 256, (count, *shape), dtype=torch.uint8)
    usual = nominal_seconds(encoder, batch[:2])

    def train() -> None:
        encoder.zero_grad()
        encoder(batch).sum().backward()

    def embed() -> None:
        with torch.no_grad():
            encoder(batch)

    training = least_seconds(train) / count
    encoder.eval()
    here = training, least_seconds(embed) / count
    steps = {"training": (usual[0], here[0]), "embedding": (usual[1], here[1])}
    times = {step: {"usual": 1e3 * nominal, "here": 1e3 * measured} for step, (nominal, measured) in steps.items()}
    return {"network": name, "shape": shape, **times}


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = [measure(*network) for network in NETWORKS]
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(row)
