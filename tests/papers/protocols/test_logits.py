"""Logits over a training: of which pairs, when, and of what the loss sees."""

import numpy as np
import pytest
from sklearn.base import clone

from ordinate import Head, Training
from ordinate_papers.estimators import RepresentationRegressor
from ordinate_papers.protocols import logits as protocol
from ordinate_papers.protocols.logits import logits
from tests.estimators.examples import draw_table, supremix

X, TARGET = draw_table(40)
AGES = np.round(2 * TARGET)


def brute_force(units, hardest):
    """Positive, hardest negative, and all negative logits, a pair at a time."""
    positive, negative = [], []
    for i in range(len(units)):
        for j in range(i):
            (positive if AGES[i] == AGES[j] else negative).append(units[i] @ units[j])
    return positive, sorted(negative)[-hardest:], negative


@pytest.mark.parametrize(
    "make", [supremix, lambda **o: RepresentationRegressor(embedding_dim=8, head=Head(bin_size=0.5), **o)]
)
def test_the_last_logits_are_those_of_the_projected_embeddings_of_the_trained_encoder(make):
    model = make(epochs=(4, 2), random_state=0, training=Training(validation_fraction=0.0))
    figures = logits(model, X, AGES, shares=[0.25, 0.5, 1.0], hardest=50)
    trained = model.fit(X, AGES)  # the same training
    seen = trained.method_.projection.double()(trained.method_(trained.fitted.read(X).double())).detach().numpy()
    units = seen / np.linalg.norm(seen, axis=1, keepdims=True)
    positive, hardest, negative = brute_force(units, 50)
    assert figures["positive_logits"][-1] == pytest.approx(np.mean(positive), abs=1e-5)
    assert figures["hard_negative_logits"][-1] == pytest.approx(np.mean(hardest), abs=1e-5)
    assert figures["logit_gap"][-1] == pytest.approx(np.mean(positive) - np.mean(negative), abs=1e-5)
    assert len(set(figures["logit_gap"])) == 3
    assert [sum(counts) for counts in figures["positive_counts"]] == [len(positive)] * 3
    assert [sum(counts) for counts in figures["hard_negative_counts"]] == [50] * 3


def test_measuring_does_not_change_the_training(monkeypatch):
    clones = []
    monkeypatch.setattr(protocol, "clone", lambda estimator: clones.append(clone(estimator)) or clones[-1])
    logits(supremix(epochs=(4, 2)), X, AGES, shares=[0.5, 1.0])
    np.testing.assert_array_equal(clones[0].transform(X), supremix(epochs=(4, 2)).fit(X, AGES).transform(X))
