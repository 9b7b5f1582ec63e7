"""The pictures of a table with its results, if the paper has some, and the files of text and pictures."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure as Picture

from ordinate.data.new_files import new_file
from ordinate.data.rows import take
from ordinate_papers.datasets import reading
from ordinate_papers.datasets.catalogue import dataset
from ordinate_papers.figures.distributions import logit_distributions, training_targets
from ordinate_papers.figures.embeddings_by_labels import embeddings_by_labels
from ordinate_papers.figures.plots import image_search, rank_colours, save, styled, write_names
from ordinate_papers.figures.similarity import cosine_matrices
from ordinate_papers.tables.metric_names import SHARES
from ordinate_papers.tables.rendering import FilledTable, as_csv, as_markdown, as_text
from ordinate_papers.tables.results import Metrics
from ordinate_papers.tables.run import Run


def write(filled: FilledTable, folder: Path) -> list[Path]:
    """Write the table as .txt, .md and .csv into a folder, and its pictures as .png; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix, text in (("txt", as_text(filled)), ("md", as_markdown(filled)), ("csv", as_csv(filled))):
        paths.append(folder / f"{filled.table.name}.{suffix}")
        with new_file(paths[-1]) as pending:
            pending.write_text(text, "utf-8")
    for name, picture in draw(filled):
        paths.append(save(picture, folder / f"{'-'.join([filled.table.name, *name.split()])}.png"))
    return paths


def draw(filled: FilledTable) -> Iterator[tuple[str, Picture]]:
    """Yield the pictures of a table with distinct parts of their names; none if no run is done yet."""
    if filled.table.curve is not None and any(one.values for cells in filled.cells for one in cells):
        yield "", _lines(filled)
    if filled.table.picture and (done := _done(filled)):
        yield from PICTURES[filled.table.picture](done)


# The key is the row's name; the value is its first finished run and the metrics.
Rows = Mapping[str, tuple[Run, Metrics]]
Draw = Callable[[Mapping[str, Rows]], Iterator[tuple[str, Picture]]]


def _done(filled: FilledTable) -> dict[str, Rows]:
    """Return the rows with a run that is done, by their group."""
    groups: dict[str, dict[str, tuple[Run, Metrics]]] = {}
    for place, row in enumerate(filled.table.rows):
        done = [run for run in filled.plan.runs.get((place, 0), ()) if filled.results[run].state == "done"]
        if done:
            groups.setdefault(row.group, {})[row.name] = done[0], filled.results[done[0]].metrics
    return dict(groups)


def _embeddings(groups: Mapping[str, Rows]) -> Iterator[tuple[str, Picture]]:
    """Draw the embeddings that were trained on genuine labels and on permuted ones."""
    for group, rows in groups.items():
        shown: dict[str, dict[str, Metrics]] = {}
        for name, (_, metrics) in rows.items():
            shown[name] = {}
            for labels in ("genuine", "permuted"):
                shown[name][labels] = {"places": metrics[f"places_{labels}"], "labels": metrics[f"labels_{labels}"]}
        yield group, embeddings_by_labels(shown)


def _maps(groups: Mapping[str, Rows]) -> Iterator[tuple[str, Picture]]:
    """Draw the embeddings of all rows side by side."""
    for group, rows in groups.items():
        yield group, embeddings_by_labels({"": {name: metrics for name, (_, metrics) in rows.items()}}, title="{}")


def _targets(groups: Mapping[str, Rows]) -> Iterator[tuple[str, Picture]]:
    """Draw the targets of the training samples, which all rows of a group share."""
    yield "", training_targets({group: next(iter(rows.values()))[1] for group, rows in groups.items()})


def _logits(groups: Mapping[str, Rows]) -> Iterator[tuple[str, Picture]]:
    """Draw the logits of positive and of hard negative pairs in the run that all rows of a group share."""
    titles = [f"{share:.0%} of the epochs" for share in SHARES]
    for group, rows in groups.items():
        _, metrics = next(iter(rows.values()))
        counts = {"positive": metrics["positive_counts"], "hardest negative": metrics["hard_negative_counts"]}
        yield group, logit_distributions(titles, metrics["logit_edges"], counts)


def _cosines(groups: Mapping[str, Rows]) -> Iterator[tuple[str, Picture]]:
    """Draw the cosine distances between all test samples, one picture per data set."""
    for group, rows in groups.items():
        matrices = {name: (m["cosine_distances"], m["cosine_ranks"]) for name, (_, m) in rows.items()}
        yield group, cosine_matrices(matrices, group)


def _searches(groups: Mapping[str, Rows]) -> Iterator[tuple[str, Picture]]:
    """Draw queries and the images nearest to them, one picture per network and data set of images."""
    for group, rows in groups.items():
        for name, (run, metrics) in rows.items():
            if dataset(run.dataset).kind == "images":
                yield f"{group} {name}".strip(), _search(run, metrics)


def _search(run: Run, metrics: Metrics, size: int = 96) -> Picture:
    from ordinate.data.images.options import ImageOptions  # These import torchvision.
    from ordinate.data.images.reader import ImageReader

    X, y, split = reading.load(run.dataset, run.seed, **run.settings.get("data", {}))
    queries = [split.test[int(row)] for row in metrics["queries"]]
    found = [split.train[[int(row) for row in rows]] for rows in metrics["neighbours"]]
    shown = np.concatenate([queries, *found])
    pixels = ImageReader.fit(take(X, shown), ImageOptions(size=size))[1].pixels
    images, width = list(pixels), len(found[0])
    places = [len(queries) + width * place for place in range(len(queries))]
    neighbours = [images[start : start + width] for start in places]
    wrong = [y[rows] != y[query] for query, rows in zip(queries, found, strict=True)]
    names = [[str(y[query]), *map(str, y[rows])] for query, rows in zip(queries, found, strict=True)]
    return image_search(images[: len(queries)], neighbours, wrong, names)


PICTURES: Mapping[str, Draw] = {
    "embeddings": _embeddings,
    "maps": _maps,
    "targets": _targets,
    "logits": _logits,
    "cosines": _cosines,
    "searches": _searches,
}


@styled
def _lines(filled: FilledTable) -> Picture:
    """Draw one panel per group and one line per row, with a dashed line for the paper's values."""
    curve, rows = filled.table.curve, filled.table.rows
    assert curve is not None  # noqa: S101  # `draw` calls this for curves only.
    drawn = [i for i, cells in enumerate(filled.cells) if any(one.values for one in cells)]
    groups = list(dict.fromkeys(rows[i].group for i in drawn))
    figure, grid = plt.subplots(1, len(groups), figsize=(1.6 + 4.2 * len(groups), 3.8), squeeze=False)
    for axes, group in zip(grid[0], groups, strict=True):
        members = [i for i in drawn if rows[i].group == group]
        for order, (i, colour) in enumerate(zip(members, rank_colours(len(members) + 1), strict=False)):
            points = [(x, one) for x, one in zip(curve.places, filled.cells[i], strict=True) if one.values]
            places = [x for x, _ in points]
            means = [one.ours for _, one in points]
            spread = [one.deviation or 0.0 for _, one in points]
            style: dict[str, Any] = {"color": colour, "marker": "osD^vPX"[order % 7], "markersize": 5}
            axes.errorbar(places, means, spread, linewidth=1.6, elinewidth=1, label=" ", **style)
            paper = [(x, one.cell.paper) for x, one in points if isinstance(one.cell.paper, int | float)]
            if paper:
                axes.plot(*zip(*paper, strict=True), linestyle="--", markerfacecolor="none", **style)
        axes.set(title=group or fill(filled.table.title, 50), xlabel=curve.along, ylabel=curve.measure)
        if max(curve.places) >= 20 * min(curve.places):
            axes.set_xscale("log")
        write_names(axes.legend(frameon=False), [rows[i].name for i in members])
    return figure
