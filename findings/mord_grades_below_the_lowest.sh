#!/usr/bin/env bash
# mord: `OrdinalRidge` and `LAD` predict grades that do not exist if the lowest grade is not 0.
#
# Both fit a line to the labels, and round what it predicts. `OrdinalRidge` keeps predictions between 0 and the highest
# label, not between the lowest and the highest, and `LAD` does the same. With grades from 0 nothing is wrong, and with
# the usual 1 to 5 some samples get the grade 0; with 3 to 8, as in tables of wines, more do not exist. `fit` does not
# refuse such labels. `LogisticAT`, `LogisticIT` and `LogisticSE` of the same package know their classes.
#
#   grades      OrdinalRidge       LAD                LogisticAT
#   0 to 4      0 1 2 3 4          0 1 2 3 4          0 1 2 3 4
#   1 to 5      0 1 2 3 4 5        0 1 2 3 4 5        1 2 3 4 5
#
# Seen with Python 3.11, mord 0.7, scikit-learn 1.9.1, numpy 2.4.6, scipy 1.17.1. Exits with an error if the behaviour
# changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet mord==0.7 scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1
cd "$work"
venv/bin/python - <<'PYTHON'
import warnings

import numpy as np

warnings.simplefilter("ignore")
import mord

random = np.random.default_rng(0)
X = random.normal(size=(400, 3))
score = X @ [2, 1, 0] + 0.2 * random.normal(size=400)
grades = np.digitize(score, [-2, -0.7, 0.7, 2])


def predicted(model, lowest):
    found = sorted({int(grade) for grade in model.fit(X, grades + lowest).predict(X)})
    print(f"{type(model).__name__}, grades {lowest} to {lowest + 4}: predicted", *found)
    return found


for lowest in (0, 1):
    known = list(range(lowest, lowest + 5))
    for model in (mord.LogisticAT(), mord.LogisticIT(), mord.LogisticSE()):
        assert predicted(model, lowest) == known
    for model in (mord.OrdinalRidge(), mord.LAD()):
        assert predicted(model, lowest) == list(range(5 + lowest))  # From 0, wherever the grades begin.
error = {low: np.abs(mord.OrdinalRidge().fit(X, grades + low).predict(X) - grades - low).mean() for low in (0, 1)}
print("mean absolute error by the lowest grade", {low: round(float(value), 3) for low, value in error.items()})
assert error[0] < error[1]
print("grades below the lowest are predicted")
PYTHON
