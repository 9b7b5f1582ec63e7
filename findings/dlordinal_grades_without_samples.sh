#!/usr/bin/env bash
# dlordinal's accuracy within one grade is 100% where every second prediction is four grades off.
#
# `accuracy_off1` and `amae`, the average of the grades' mean absolute errors, measure distances by the places among the
# grades that occur, although grades are whole numbers: if no sample has grade 1, 2 or 3, then 0 and 4 are neighbours. A
# test set may well lack a rare grade. For `accuracy_off1` only true grades occur: a sample with another predicted grade
# is left out of the share, not counted as an error. No warning is given. With all grades as the argument `labels`,
# `accuracy_off1` is right; `amae` and `mmae` have no such argument.
#
#   grade       predicted    accuracy_off1   with labels=range(5)   amae    by hand
#   0 0 4 4     4 4 4 4      1.0             0.5                    0.5     2.0
#   0 1 2 2     4 4 4 2      1.0             0.25                   1.83    2.67
#
# Seen with Python 3.11, dlordinal 2.7.0, scikit-learn 1.9.1, numpy 2.4.6. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet scikit-learn==1.9.1 numpy==2.4.6
"$work/venv/bin/pip" install --quiet --no-deps dlordinal==2.7.0 # The metrics do not use torch.
cd "$work"
venv/bin/python -W error - <<'PYTHON'
import numpy as np
from dlordinal.metrics import accuracy_off1, amae, mmae


def by_hand(grade, predicted):
    errors = np.abs(grade - predicted)
    return (errors <= 1).mean(), np.mean([errors[grade == each].mean() for each in np.unique(grade)])


def row(grade, predicted):
    grade, predicted = np.array(grade), np.array(predicted)
    within, mean_error = by_hand(grade, predicted)
    named = accuracy_off1(grade, predicted, labels=range(5))
    found = accuracy_off1(grade, predicted), amae(grade, predicted)
    print(grade, predicted, "accuracy_off1", found[0], "with labels", named, "by hand", within, end="; ")
    print("amae", round(found[1], 2), "by hand", round(mean_error, 2), "mmae", mmae(grade, predicted))
    assert named == within
    return found[0], within, round(found[1], 2), round(mean_error, 2)


assert row([0, 1, 2, 3, 4], [0, 1, 2, 4, 2]) == (0.8, 0.8, 0.6, 0.6)  # Every grade occurs.
assert row([0, 0, 4, 4], [4, 4, 4, 4]) == (1.0, 0.5, 0.5, 2.0)
assert row([0, 1, 2, 2], [4, 4, 4, 2]) == (1.0, 0.25, 1.83, 2.67)
print("grades without samples shorten the distance between the others")
PYTHON
