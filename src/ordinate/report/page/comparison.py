"""Several models on the same samples, on one page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinate.counts import counted
from ordinate.data.rows import Samples, random_part, take
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.predictions import Predictions
from ordinate.report.output import write
from ordinate.report.page import document, plots, words
from ordinate.report.page.contents import MOST_SAMPLES, Contents, gather, kind_of_samples
from ordinate.report.page.measures import Predictor, group_by_label, score_all
from ordinate.report.page.projections import project
from ordinate.report.page.view import large_error, score_rows, shared_values, versions


def write_comparison(
    models: Mapping[str, EmbeddingEstimator],
    X: Samples | dict[str, Samples],
    y: Any,
    path: str | Path,
    *,
    unseen: bool = False,
    target: str = "the label",
    command: str | None = None,
    facts: Mapping[str, str] | None = None,
) -> Path:
    """Write a page that sets models side by side: their scores, and their embeddings with one selection.

    Args:
        models: Two or more fitted models by name, all of the same ranks or all of a target.
        X: (n, ...) samples that all of them accept; or a dictionary of them by the name of the model, where models
            expect other columns or sizes of the same samples. Of more than 20,000 the page uses as many at random.
        y: (n,) their labels.
        path: Path of the file; one that is there is replaced.
        unseen: Whether no model was trained on any of them; the page states it.
        target: Name of the label.
        command: Command that made the page.
        facts: Further facts for reproduction.

    Returns:
        The path.

    Raises:
        OrdinateError: fewer than two models, models of other ranks, or what
            :func:`~ordinate.report.page.write_report` raises.

    Example:
        >>> import tempfile
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 40)[:, None]
        >>> models = {
        ...     name: OTDClassifier(epochs=2, random_state=seed).fit(X, X[:, 0] > 0.5)
        ...     for seed, name in enumerate(["first", "second"])
        ... }
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = write_comparison(models, X, X[:, 0] > 0.5, f"{folder}/comparison.html")
        ...     "second" in page.read_text()
        True
    """
    if len(models) < 2:
        raise OrdinateError("models", len(models), "at least two to compare")
    given = X if isinstance(X, dict) else dict.fromkeys(models, X)
    count = len(next(iter(given.values())))
    if count > MOST_SAMPLES and all(len(samples) == len(y) for samples in given.values()):
        part = random_part(count, MOST_SAMPLES)
        given = {name: take(samples, part, renumber=True) for name, samples in given.items()}
        y = np.asarray(y)[part]
    gathered = {name: gather(Predictions.of(model, given[name], y)) for name, model in models.items()}
    first = next(iter(gathered.values()))
    for name, contents in gathered.items():
        if contents.names != first.names:
            raise OrdinateError(
                "models",
                problem=f"{name} predicts {_predicts(contents)}, and {next(iter(models))} {_predicts(first)}",
                expected="models of one label",
            )
        if contents.true.ndim > 1:
            raise OrdinateError(
                "models", f"{name} of {counted(contents.true.shape[1], 'target')}", "models of ranks or one target"
            )
    scored = {name: score_all(contents) for name, contents in gathered.items()}
    predictors = [Predictor(name, of[0].predicted, of[0].scores) for name, of in scored.items()]
    predictors += next(iter(scored.values()))[1:]
    columns: dict[str, NDArray[np.generic]] = {}
    for place, contents in enumerate(gathered.values()):
        points = project(contents.embeddings, ("pca",))[0].points
        columns[f"x{place}"], columns[f"y{place}"] = points.T
        columns[f"colour{place}"] = plots.uncoloured(len(first))
    source = plots.point_source(**columns)
    size = (6.0, 4.0)[len(first) >= 500]
    drawn = [plots.cloud(f"model-{place}", source, str(place), size) for place in range(len(models))]
    errors = np.concatenate([contents.errors for contents in gathered.values()])
    data = {
        "ranks": first.names,
        "true": first.true.tolist(),
        "range": [float(first.true.min()), float(first.true.max())],
        "largeError": large_error(errors),
        "models": [
            {"predicted": contents.predicted.tolist(), "error": contents.errors.tolist()}
            for contents in gathered.values()
        ],
    }
    values = {
        **shared_values(first, group_by_label(first), predictors, command),
        "scores": score_rows(predictors, len(models)),
        "title": f"{counted(len(models), 'model')} of {target}",
        "introduction": _introduce(first, count, unseen=unseen),
        "models": [{"name": name, "note": _note(each)} for name, each in zip(models, predictors, strict=False)],
        "facts": [*(facts or {}).items(), *versions()],
        "data": data,
        "plots": plots.document(drawn),
    }
    return write(document.render("compare.html", "compare.js", **values), path)


def _introduce(contents: Contents, given: int, *, unseen: bool) -> str:
    drawn = f"On {counted(len(contents), 'sample')}, {kind_of_samples(contents)},"
    if len(contents) < given:
        drawn = f"On {len(contents):,} of {counted(given, 'sample')}, {kind_of_samples(contents)}, drawn at random and"
    if unseen:
        return f"{drawn} the same for all. None of the models was trained on them."
    return f"{drawn} the same for all. Some models may have been trained on some of them."


def _predicts(contents: Contents) -> str:
    return " < ".join(contents.names or ["a number"])


def _note(predictor: Predictor) -> str:
    metric, score = next(iter(predictor.scores.items()))
    shown = words.percent(score.value) if metric == "accuracy" else f"{score.value:.3g}"
    return f"{metric} {shown}"


def names_of(folders: Sequence[str]) -> list[str]:
    """Return the shortest ends of paths that tell them apart.

    Example:
        >>> names_of(["a/model", "b/model"]), names_of(["out/cloc", "out/otd"])
        (['a/model', 'b/model'], ['cloc', 'otd'])
    """
    parts = [Path(folder).resolve().parts for folder in folders]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise OrdinateError("models", f"{folders[0]} twice", "different ones")
