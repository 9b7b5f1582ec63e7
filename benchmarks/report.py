"""Measure the report page of 10,000 samples: seconds to write, bytes, seconds to open, frames while pointing.

    ORDINATE_DATA=DIR python benchmarks/report.py [--samples 10000] [--data nursery fingers]

Nursery is a table, Fingers are images of 64 x 64 pixels; the models are trained for a few epochs, as only the page
is timed. Chromium opens the page without a GPU; it is interactive when its pictures are drawn and its tables filled,
and the pointer then passes over the embedding for three seconds.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from ordinate import OTDClassifier
from ordinate.data.images.pixels import choose_preprocessing, decode
from ordinate.report.page import write_report
from ordinate.report.text import table
from ordinate_papers.datasets.images import load
from runs import results_of, write

TRAINED_ON = 1000
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FRAMES = """seconds => new Promise((done) => {
    const times = [];
    const step = (now) => {
        times.push(now);
        if (now - times[0] < 1000 * seconds) requestAnimationFrame(step);
        else done(times.slice(1).map((time, i) => time - times[i]));
    };
    requestAnimationFrame(step);
})"""


def nursery(samples: int) -> tuple[Any, Any, Any]:
    """Return an unfitted model, a table and its ranks."""
    frame = pd.read_csv(Path(os.environ["ORDINATE_DATA"]) / "uci_ordinal" / "nursery.csv.gz")
    frame = frame[frame["class"] != "recommend"]  # This class has only two samples.
    frame = frame.sample(frac=1, random_state=0).head(TRAINED_ON + samples).reset_index(drop=True)
    order = ["not_recom", "very_recom", "priority", "spec_prior"]
    return OTDClassifier(class_order=order, epochs=5, random_state=0), frame.drop(columns="class"), frame["class"]


def fingers(samples: int) -> tuple[Any, Any, Any]:
    """Return an unfitted model, images and their ranks."""
    images = load("fingers")
    rows = np.random.default_rng(0).permutation(len(images))[: TRAINED_ON + samples]
    images = images.take(rows)
    pixels, _ = decode(images.samples, choose_preprocessing(images.samples))
    return OTDClassifier(encoder="test_resnet", epochs=1, random_state=0), pixels, np.asarray(images.labels)


def measure(name: str, samples: int) -> dict[str, Any]:
    """Return the figures of one data set."""
    model, X, y = {"nursery": nursery, "fingers": fingers}[name](samples)
    first, rest = slice(None, TRAINED_ON), slice(TRAINED_ON, None)
    training, (X, y) = (X[first], y[first]), (X[rest], y[rest])
    model.fit(*training)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        started = time.perf_counter()
        write_report(model.fitted, X, y, path, training=training)
        seconds = time.perf_counter() - started
        return {
            "data": name,
            "samples": len(y),
            "seconds": round(seconds, 2),
            "megabytes": round(path.stat().st_size / 1e6, 2),
            **_in_browser(path),
            "threads": torch.get_num_threads(),
            "load": round(os.getloadavg()[0], 1),
        }


def _in_browser(path: Path) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        opened = []
        for _ in range(3):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            started = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            opened.append(time.perf_counter() - started)
        place = page.locator("#plot-embedding")
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        assert box is not None
        page.evaluate("window.measured = (" + FRAMES + ")(3)")
        end, shown = time.perf_counter() + 3, 0
        while time.perf_counter() < end:
            across = np.random.default_rng(shown).random(2)
            page.mouse.move(box["x"] + across[0] * box["width"], box["y"] + across[1] * box["height"])
            shown += 1
        frames = page.evaluate("window.measured")
        browser.close()
    return {
        "seconds_to_interactive": round(statistics.median(opened), 2),
        "frames_per_second": round(1000 / statistics.mean(frames), 1),
        "slowest_frame_ms": round(max(frames), 1),
    }


def main() -> None:
    """Measure, print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--data", nargs="+", choices=("nursery", "fingers"), default=["nursery", "fingers"])
    options = parser.parse_args()
    figures = [measure(name, options.samples) for name in options.data]
    write(results_of(__file__), figures)
    header = ["data", "samples", "seconds", "MB", "interactive, s", "frames/s"]
    names = ("data", "samples", "seconds", "megabytes", "seconds_to_interactive", "frames_per_second")
    print(table(header, [[str(run[name]) for name in names] for run in figures]))


if __name__ == "__main__":
    main()
