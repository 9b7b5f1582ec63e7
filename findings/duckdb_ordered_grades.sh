#!/usr/bin/env bash
# DuckDB sorts ordered categories of pandas by their order, and filters them by the alphabet.
#
# A query on a DataFrame sees ordered categories as an ENUM whose values have the same order. ORDER BY and max() follow
# it. A comparison with a text does not: DuckDB casts the grade to text, where PostgreSQL casts the text to the ENUM, so
# that the best grade is not "at least mid", and a grade that does not exist raises nothing. A parameter of execute() is
# such a text too. greatest(), coalesce() with a text, and a comparison with an ENUM of fewer values change the order in
# the same way. Of none < low < mid < high:
#
#   ORDER BY grade                            low, low, mid, high
#   max(grade)                                high
#   WHERE grade >= 'mid'                      mid
#   WHERE grade >= 'medium'                   mid
#   WHERE grade >= 'mid'::(the same ENUM)     high, mid
#   max(coalesce(grade, 'none'))              mid
#
# pandas and an Enum of polars answer "high, mid". Seen with Python 3.11, duckdb 2.0.1, pandas 3.0.1, polars 2.1.0. Exits
# with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet duckdb==2.0.1 pandas==3.0.1 polars==2.1.0 pyarrow==26.0.1
cd "$work"
venv/bin/python - <<'PYTHON'
import duckdb
import pandas as pd
import polars as pl

ORDER = ["none", "low", "mid", "high"]
grades = ["low", "high", "mid", "low"]
patients = pd.DataFrame({"grade": pd.Categorical(grades, categories=ORDER, ordered=True)})
coarse = pd.DataFrame({"grade": pd.Categorical(["mid"], categories=["low", "mid", "high"], ordered=True)})


def answers(query, *parameters):
    found = [row[0] for row in duckdb.execute(query, parameters).fetchall()]
    print(f"{query:70} {found}")
    return found


enum = "ENUM('none', 'low', 'mid', 'high')"
assert answers("SELECT DISTINCT typeof(grade) FROM patients") == [enum]
assert answers("SELECT grade FROM patients ORDER BY grade") == ["low", "low", "mid", "high"]
assert answers("SELECT max(grade) FROM patients") == ["high"]
assert answers(f"SELECT grade FROM patients WHERE grade >= 'mid'::{enum}") == ["high", "mid"]

assert answers("SELECT grade FROM patients WHERE grade >= 'mid'") == ["mid"]
assert answers("SELECT grade FROM patients WHERE grade >= ?", "mid") == ["mid"]
assert answers("SELECT grade FROM patients WHERE grade >= 'medium'") == ["mid"]
assert answers("SELECT max(greatest(grade, 'none')) FROM patients") == ["none"]
assert answers("SELECT max(coalesce(grade, 'none')) FROM patients") == ["mid"]
assert answers("SELECT p.grade FROM patients p, coarse c WHERE p.grade >= c.grade") == ["mid"]

assert patients["grade"][patients["grade"] >= "mid"].tolist() == ["high", "mid"]
of_polars = pl.Series("grade", grades, dtype=pl.Enum(ORDER))
assert of_polars.filter(of_polars >= "mid").to_list() == ["high", "mid"]
print("grades are sorted by their order and filtered by the alphabet")
PYTHON
