"""What validation samples say of the decision in use: whether another would clearly be better."""

from collections.abc import Sequence

import numpy as np

from ordinate.decisions import better_rule, compare_rules
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.predictions import Predictions
from ordinate.estimators.rank_classifier import RankClassifier

MEASURES = {"mode": ("accuracy", "an accuracy"), "median": ("mae", "an MAE")}  # what each is for


def measured_note(parts: Sequence[Predictions]) -> str | None:
    """Return the note on predictions of validation samples, of each part by a model of the same settings.

    None for targets, or where nothing is to be said.
    """
    probabilities = [part.probabilities for part in parts if part.probabilities is not None]
    if sum(map(len, probabilities)) < 2:
        return None
    true = np.concatenate([part.true for part in parts])
    return note_on_decision(parts[0].model, compare_rules(true, np.concatenate(probabilities)))


def note_on_decision(model: EmbeddingEstimator, scores: dict[str, dict[str, float]] | None) -> str | None:
    """Return the note on what was measured on validation samples; None where nothing is to be said."""
    if not isinstance(model, RankClassifier) or scores is None:
        return None
    better = better_rule(scores, model.rule)
    if better is None:
        return None
    measure, name = MEASURES[better]
    values = {rule: scores[rule][measure] for rule in scores}
    return (
        f"on validation samples the {better} of the probabilities has {name} of {values.pop(better):.3f}, "
        f"the {model.rule} {values.popitem()[1]:.3f}: --decision {better} predicts by it"
    )
