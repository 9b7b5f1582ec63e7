#!/usr/bin/env bash
# pyreadstat converts Stata's days to dates, but leaves its months, quarters and weeks as counts since 1960.
#
# Stata stores all of its date formats as numbers and shows them as dates. In one file, pyreadstat reads
#
#   %td (days)      -> datetime.date(2020, 1, 31)
#   %tm (months)    -> 720.0
#   %tq (quarters)  -> 240.0
#   %tw (weeks)     -> 3121.0
#
# without a warning: a month, a quarter and a week look like measured numbers, of three different units.
# `pandas.read_stata` reads the same columns as 2020-01-01, 2020-01-01 and 2020-01-08. The formats are in
# `original_variable_types` of the metadata.
# Seen with Python 3.11, pyreadstat 1.3.7, pandas 3.0.1. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet pyreadstat==1.3.7 pandas==3.0.1
cd "$work"
venv/bin/python - <<'PYTHON'
import datetime

import pandas as pd
import pyreadstat

days = {"day": "2020-01-31", "month": "2020-01-01", "quarter": "2020-01-01", "week": "2020-01-08"}
table = pd.DataFrame({name: pd.to_datetime([day]) for name, day in days.items()})
forms = {"day": "td", "month": "tm", "quarter": "tq", "week": "tw"}
table.to_stata("a.dta", convert_dates=forms, write_index=False)
read, about = pyreadstat.read_dta("a.dta")
found = read.iloc[0].to_dict()
print(found)
assert found == {"day": datetime.date(2020, 1, 31), "month": 720.0, "quarter": 240.0, "week": 3121.0}, found
stored = {"day": "%td", "month": "%tm", "quarter": "%tq", "week": "%tw"}
assert about.original_variable_types == stored, about.original_variable_types
by_pandas = pd.read_stata("a.dta").iloc[0]
assert {name: str(day.date()) for name, day in by_pandas.items()} == days, by_pandas
print("months, quarters and weeks are left as counts since 1960")
PYTHON
