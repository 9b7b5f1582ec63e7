#!/usr/bin/env bash
# scipy.io.arff.loadarff reads a missing nominal value as the category "?".
#
# "?" is ARFF's sign for a missing value, and the documentation of loadarff says that missing values become NaN. This
# holds for numbers. In a nominal attribute "?" stays the text b"?", although the attribute does not declare such a
# value: pandas counts no missing cells, and an encoder makes a level of it. With the alphabet's order, in which
# scikit-learn's encoders and label encoders put text, the missing grade is below every other one.
#
#   @attribute grade {low,mid,high}     pandas, isna: none     OrdinalEncoder: "?" is 0, high 1, low 2, mid 3
#   @attribute size numeric             pandas, isna: one
#
# liac-arff gives None for both. Seen with Python 3.11, scipy 1.17.1, liac-arff 2.5.0, scikit-learn 1.9.1, pandas 3.0.1.
# Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet scipy==1.17.1 liac-arff==2.5.0 scikit-learn==1.9.1 pandas==3.0.1
cd "$work"
venv/bin/python - <<'PYTHON'
import io

import arff
import pandas as pd
from scipy.io.arff import loadarff
from sklearn.preprocessing import OrdinalEncoder

TEXT = """@relation patients
@attribute grade {low,mid,high}
@attribute size numeric
@data
low,1
?,2
high,?
mid,4
"""
assert "NaN" in loadarff.__doc__
rows, declared = loadarff(io.StringIO(TEXT))
frame = pd.DataFrame(rows)
print(frame, declared["grade"])
assert declared["grade"] == ("nominal", ("low", "mid", "high"))
assert frame["size"].isna().sum() == 1
assert frame["grade"].isna().sum() == 0
assert frame["grade"].tolist() == [b"low", b"?", b"high", b"mid"]
codes = OrdinalEncoder().fit_transform(frame[["grade"]]).ravel().tolist()
assert codes == [2, 0, 1, 3], codes
assert [row[0] for row in arff.loads(TEXT)["data"]] == ["low", None, "high", "mid"]
print("a missing nominal value is the category '?'")
PYTHON
