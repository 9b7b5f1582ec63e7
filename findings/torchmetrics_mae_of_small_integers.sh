#!/usr/bin/env bash
# torchmetrics: the mean absolute error of grades from 0 to 4 is 127 if they are stored as uint8.
#
# Grades fill few bits and are often stored so: labels of masks and images, codes of categories. The difference of two
# uint8 tensors wraps: 1 - 2 is 255. `mean_absolute_error` has a conversion of whole numbers to floats, but it tests the
# method `is_floating_point` without calling it, which is always true. `mean_squared_error` has none, and is right for
# errors below 16, because 255 squared is 1 modulo 256: the metric that looks right hides the type. An error of 20 years
# squared is 144, and -112 as int8. Nothing warns.
#
#   grade 2 2 4 4, predicted 3 1 0 4      as float    as int64    as uint8
#   mean_absolute_error                   1.5         1.5         127.0
#   mean_squared_error                    4.5         4.5         4.5
#   age 40, predicted 20                  as float    as int64    as uint8
#   mean_squared_error                    400.0       400.0       144.0
#
# scikit-learn's functions of these names are right. Seen with Python 3.11, torchmetrics 1.9.0, torch 2.15.0,
# scikit-learn 1.9.1. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet torchmetrics==1.9.0 torch==2.15.0 scikit-learn==1.9.1 numpy==2.4.6
cd "$work"
venv/bin/python - <<'PYTHON'
import numpy as np
import sklearn.metrics
import torch
from torchmetrics import MeanAbsoluteError, MeanSquaredError
from torchmetrics.functional import mean_absolute_error, mean_squared_error

TYPES = {"float": torch.float32, "int64": torch.int64, "uint8": torch.uint8, "int8": torch.int8}


def of_types(metric, predicted, true):
    found = {}
    for name, kind in TYPES.items():
        found[name] = metric(torch.tensor(predicted, dtype=kind), torch.tensor(true, dtype=kind)).item()
    print(getattr(metric, "__name__", type(metric).__name__), predicted, true, found)
    return found


predicted, grades = [3, 1, 0, 4], [2, 2, 4, 4]
of_numpy = np.array(grades, dtype=np.uint8), np.array(predicted, dtype=np.uint8)
assert sklearn.metrics.mean_absolute_error(*of_numpy) == 1.5
assert sklearn.metrics.mean_squared_error(*of_numpy) == 4.5
assert of_types(mean_absolute_error, predicted, grades) == {"float": 1.5, "int64": 1.5, "uint8": 127.0, "int8": 1.5}
assert of_types(MeanAbsoluteError(), predicted, grades) == {"float": 1.5, "int64": 1.5, "uint8": 127.0, "int8": 1.5}
assert of_types(mean_squared_error, predicted, grades) == dict.fromkeys(TYPES, 4.5)
assert of_types(mean_squared_error, [20], [40]) == {"float": 400.0, "int64": 400.0, "uint8": 144.0, "int8": -112.0}
assert of_types(MeanSquaredError(), [20], [40]) == {"float": 400.0, "int64": 400.0, "uint8": 144.0, "int8": -112.0}
print("errors of uint8 wrap")
PYTHON
