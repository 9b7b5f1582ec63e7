"""What validation samples say of the decision in use: whether another would clearly be better."""

from ordinate.decisions import better_rule, compare_rules
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.predictions import Predictions
from ordinate.estimators.rank_classifier import RankClassifier

MEASURES = {"mode": ("accuracy", "an accuracy"), "median": ("mae", "an MAE")}  # what each is for


def measured_note(predictions: Predictions) -> str | None:
    """Return the note on predictions of validation samples; None for targets, or where nothing is to be said."""
    if predictions.probabilities is None or len(predictions) < 2:
        return None
    return note_on_decision(predictions.model, compare_rules(predictions.true, predictions.probabilities))


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
