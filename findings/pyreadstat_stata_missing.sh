#!/usr/bin/env bash
# With user_missing=True, pyreadstat reads Stata's missing value "." as 0, or as another number that is in no cell.
#
# Stata has 27 missing values for numbers: "." and ".a" to ".z", which surveys use for refused, don't know and the like.
# read_dta(user_missing=True) gives the letters of the latter, and NaN for ".". But in a column of whole numbers in
# which a letter came first, every later "." becomes a number without a warning: 0 in a small table, in others the bits
# of a value of another column. A grade that nobody gave is then the lowest one, and a label of code 0 is put on it.
# Before the first letter "." is NaN, as it is everywhere without user_missing=True and in pandas:
#
#   grade in the file                     1    2    .a   .    3    .
#   read_dta()                            1    2    nan  nan  3    nan
#   read_dta(user_missing=True)           1    2    a    0    3    0
#
# Seen with Python 3.11, pyreadstat 1.3.7, pandas 3.0.1. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet pyreadstat==1.3.7 pandas==3.0.1
cd "$work"
venv/bin/python - <<'PYTHON'
import numbers

import pandas as pd
import pyreadstat


def read(grades, **options):
    frame = pd.DataFrame({"grade": pd.Series(grades, dtype=object), "age": [20.0 + n for n in range(len(grades))]})
    pyreadstat.write_dta(frame, "a.dta", missing_user_values={"grade": ["a"]})
    return pyreadstat.read_dta("a.dta", **options)[0]["grade"].tolist()


def is_number(cell):
    return isinstance(cell, numbers.Number) and cell == cell


grades = [1, 2, "a", None, 3, None]
read(grades)
held = [str(cell) for cell in pd.read_stata("a.dta", convert_missing=True)["grade"]]
assert held == ["1", "2", ".a", ".", "3", "."], held
plain = read(grades)
assert [is_number(cell) for cell in plain] == [True, True, False, False, True, False], plain
tagged = read(grades, user_missing=True)
print("in the file", held)
print("user_missing=True", tagged)
assert tagged[2] == "a" and is_number(tagged[3]) and is_number(tagged[5]), tagged
first = read([1, None, "a", 3], user_missing=True)
assert not is_number(first[1]), first
print("'.' after a letter is read as a number")
PYTHON
