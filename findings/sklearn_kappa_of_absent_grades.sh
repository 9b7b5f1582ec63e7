#!/usr/bin/env bash
# scikit-learn: the quadratic weighted kappa of grades depends on which grades happen to occur, and on their spelling.
#
# `cohen_kappa_score(..., weights="quadratic")` weighs a disagreement by the distance of two places in a sorted list of
# the labels, and lists those that occur in one of its arguments alone, where `labels` is not given. A fold or a hospital
# without grade 2 and 3 turns the step from 1 to 4 into one of neighbours. Grades that are words are listed along the
# alphabet, high, low, medium: to take "low" for "high" is a small error, and "medium" for "high" a large one. So a
# scorer that is given to cross-validation computes different measures in different folds. Nothing warns, and the values
# are plausible.
#
#   true 0 0 1 1 4 4 4 1, predicted 0 1 1 4 4 4 1 1        0.647
#   the same with labels=[0, 1, 2, 3, 4]                   0.558
#   the same, as floats 0.0 to 4.0                         0.647
#   low/medium/high, one "low" taken for "high"            0.889
#   the same with labels=["low", "medium", "high"]         0.5
#
# torchmetrics, which needs the number of grades, gives 0.558. Seen with Python 3.11, scikit-learn 1.9.1, torchmetrics
# 1.9.0, torch 2.15.0, numpy 2.4.6. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet scikit-learn==1.9.1 torchmetrics==1.9.0 torch==2.15.0 numpy==2.4.6
cd "$work"
venv/bin/python - <<'PYTHON'
import warnings

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.metrics import cohen_kappa_score, make_scorer
from torchmetrics.functional import cohen_kappa

warnings.simplefilter("error", UserWarning)


def kappa(true, predicted, **options):
    return round(float(cohen_kappa_score(true, predicted, weights="quadratic", **options)), 3)


def by_hand(true, predicted):
    """One minus the mean squared difference over its mean among all pairs."""
    true, predicted = np.array(true, float), np.array(predicted, float)
    chance = np.mean((true[:, None] - predicted) ** 2)
    return round(1 - np.mean((true - predicted) ** 2) / chance, 3)


true, predicted = [0, 0, 1, 1, 4, 4, 4, 1], [0, 1, 1, 4, 4, 4, 1, 1]
print("grades 2 and 3 absent", kappa(true, predicted), kappa(true, predicted, labels=[0, 1, 2, 3, 4]))
assert kappa(true, predicted) == 0.647
assert kappa([float(grade) for grade in true], [float(grade) for grade in predicted]) == 0.647
assert kappa(true, predicted, labels=[0, 1, 2, 3, 4]) == by_hand(true, predicted) == 0.558
others = cohen_kappa(
    torch.tensor(predicted), torch.tensor(true), task="multiclass", num_classes=5, weights="quadratic"
)
assert round(others.item(), 3) == 0.558

words = ["low", "medium", "high"]
grades, taken = [0, 0, 1, 1, 2, 2], [0, 2, 1, 1, 2, 2]
as_words = [words[grade] for grade in grades], [words[grade] for grade in taken]
print("words", kappa(*as_words), kappa(*as_words, labels=words))
assert kappa(*as_words) == 0.889
assert kappa(*as_words, labels=words) == by_hand(grades, taken)


class Given(BaseEstimator):
    """A model whose predictions are the column of X."""

    def predict(self, X):
        return X[:, 0]


scorer = make_scorer(cohen_kappa_score, weights="quadratic")
assert round(float(scorer(Given(), np.array(predicted)[:, None], np.array(true))), 3) == 0.647
print("absent grades are left out of the distances, words follow the alphabet")
PYTHON
