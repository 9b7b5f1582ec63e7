"""``ordinate compare``: several saved models on the same samples, on one page."""

import time
from functools import reduce

import numpy as np

from ordinate.commands.report import command_line, hashes, read_samples, trained_target
from ordinate.errors import OrdinateError
from ordinate.estimators import load
from ordinate.report.page import write_comparison
from ordinate.report.page.comparison import names_of


def compare(models: list[str], data: str, target: str | None, out: str) -> None:
    """Write the page that sets models side by side to ``out``."""
    start = time.monotonic()
    if len(models) < 2:
        raise OrdinateError("models", len(models), "at least two to compare")
    names = names_of(models)
    target = target or trained_target(models[0])
    estimators = {name: load(model) for name, model in zip(names, models, strict=True)}
    folders = dict(zip(names, models, strict=True))
    given = {name: read_samples(estimators[name], folder, data, target) for name, folder in folders.items()}
    first = next(iter(given.values()))
    rows = reduce(np.intersect1d, [samples.measured for samples in given.values()])
    unseen = len(rows) > 0 and all(samples.trained is not None for samples in given.values())
    if len(rows) == 0:  # every row was trained on by some model
        rows = np.arange(len(first.y))
    facts = {f"{name}: {what}": digest for name, folder in folders.items() for what, digest in hashes(folder).items()}
    path = write_comparison(
        estimators,
        {name: samples.take(rows)[0] for name, samples in given.items()},
        first.take(rows)[1],
        out,
        unseen=unseen,
        target=target or "the label",
        command=command_line("compare", models, data, target, out),
        facts={"Data": data, "Data, sha256": first.digest, **facts},
    )
    print(f"{len(models)} models on {len(rows)} samples: {path}, in {time.monotonic() - start:.0f} s")
