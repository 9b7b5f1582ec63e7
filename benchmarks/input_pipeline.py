"""Measure how fast two workers decode and augment images, compared with the encoder that waits for them.

    ORDINATE_DATA=DIR python benchmarks/input_pipeline.py [--recipes otd-fingers cloc-koa ...] [--batches 30]

For the small version of every recipe: images decoded a second by two workers, views drawn a second by two workers
alone, views that the encoder trains on a second from memory, and the share of the time of training that is spent
waiting for the next batch, when the workers draw while the encoder trains on the same cores. Five batches warm up.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from ordinate.data.images.augmentation import Augmentation
from ordinate.data.images.pixels import choose_preprocessing, decode
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.training_batches import ViewBatches
from ordinate.encoders import build_encoder
from ordinate.estimators.recipes import read_recipe
from ordinate.report.text import table
from ordinate_papers.datasets.images import load
from runs import results_of, write

WARM_UP, WORKERS = 5, 2
RECIPES = ("cloc-koa", "cloc-retinamnist", "otd-busi", "otd-fingers")


def measure(name: str, batches: int) -> dict[str, Any]:
    """Return the figures of one recipe."""
    recipe = read_recipe(name, quick=True)
    estimator = recipe.build()
    options, size = estimator._images, estimator.batch_size or 64
    images: Any = load(recipe.dataset)
    preprocessing = choose_preprocessing(images.samples, options.size, options.channels, options.crop, options.equalize)
    started = time.perf_counter()
    pixels, _ = decode(images.samples, preprocessing, WORKERS)
    decoded = len(pixels) / (time.perf_counter() - started)

    augmentation = Augmentation(options.augmentation, preprocessing.size)
    data = ViewBatches(torch.from_numpy(pixels), torch.zeros(len(pixels)), augmentation, 1, WORKERS)
    channels = (preprocessing.channels, *preprocessing.size)
    encoder = build_encoder(estimator.encoder, channels, estimator.embedding_dim, pretrained=options.pretrained)
    optimizer = torch.optim.AdamW(encoder.parameters(), 1e-4)

    def step(x: Tensor) -> None:
        optimizer.zero_grad()
        encoder(x).square().mean().backward()
        optimizer.step()

    drawn = statistics.mean(_waits(data, size, batches, lambda _: None))
    fixed = next(iter(_loader(data, size)))[0]
    steps = [_seconds(lambda: step(fixed)) for _ in range(WARM_UP + batches)][WARM_UP:]
    waits = _waits(data, size, batches, step)
    trained = statistics.median(steps)
    return {
        "recipe": name,
        "pixels": list(channels),
        "encoder": estimator.encoder,
        "batch": size,
        "decoded_per_second": round(decoded, 1),
        "views_per_second": round(size / drawn, 1),
        "trained_per_second": round(size / trained, 1),
        "waiting_share": round(statistics.mean(waits) / (statistics.mean(waits) + trained), 4),
        "threads": torch.get_num_threads(),
    }


def _loader(data: ViewBatches, size: int) -> DataLoader[Any]:
    requests = data.requests(ShuffledBatches(len(data), size), 0)
    return DataLoader(
        data, sampler=requests, batch_size=None, num_workers=data.workers, persistent_workers=data.workers > 0
    )


def _waits(data: ViewBatches, size: int, batches: int, step: Any) -> list[float]:
    """Seconds until each batch is there, once the one before was worked on."""
    loader = _loader(data, size)
    endless = _again(loader)
    waits = []
    for _ in range(WARM_UP + batches):
        started = time.perf_counter()
        x, _y = next(endless)
        waits.append(time.perf_counter() - started)
        step(x)
    return waits[WARM_UP:]


def _again(loader: DataLoader[Any]) -> Iterator[Any]:
    while True:
        yield from loader


def _seconds(run: Any) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> None:
    """Measure, print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=RECIPES)
    parser.add_argument("--batches", type=int, default=30)
    options = parser.parse_args()
    figures = [measure(name, options.batches) for name in options.recipes]
    write(results_of(__file__), figures)
    header = ["recipe", "pixels", "decoded/s", "views/s", "trained/s", "waiting"]
    rows = [
        [
            run["recipe"], "x".join(map(str, run["pixels"])), f"{run['decoded_per_second']:.0f}",
            f"{run['views_per_second']:.0f}", f"{run['trained_per_second']:.0f}", f"{run['waiting_share']:.1%}",
        ]
        for run in figures
    ]  # fmt: skip
    print(table(header, rows))


if __name__ == "__main__":
    main()
