#!/usr/bin/env bash
# A missing grade that rdata writes to a file of R comes back as the highest grade.
#
# A factor of R has codes from 1, and NA where a value is missing. pandas codes a missing category as -1, and rdata writes
# all codes plus 1: a 0, which no level has and which is not NA. When rdata reads the file, the level before the first one
# is in Python the last: with levels from the lowest to the highest, a patient whose grade nobody knows has the highest.
# Nothing warns, and no cell of the table is missing any more. pyreadr reads the 0 as missing, and writes NA.
#
#   grade                                low    missing   high
#   codes written by rdata               1      0         3
#   written by rdata, read by rdata      low    high      high
#   written by rdata, read by pyreadr    low    missing   high
#   codes written by pyreadr             1      NA        3
#   written by pyreadr, read by rdata    low    missing   high
#
# Seen with Python 3.11, rdata 1.1.0, pyreadr 0.5.8, pandas 3.0.1. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet rdata==1.1.0 pyreadr==0.5.8 pandas==3.0.1
cd "$work"
venv/bin/python -W error - <<'PYTHON'
import numpy as np
import pandas as pd
import pyreadr
import rdata

grades = pd.Categorical(["low", None, "high"], categories=["low", "mid", "high"], ordered=True)
frame = pd.DataFrame({"grade": grades})


def codes(path):
    codes = rdata.parser.parse_file(path, extension=".rds").object.value[0].value
    return [None if missing else code for code, missing in zip(np.ma.getdata(codes).tolist(), np.ma.getmaskarray(codes))]


def texts(column):
    return column.astype(object).where(column.notna(), None).tolist()


rdata.write_rds("rdata.rds", frame)
pyreadr.write_rds("pyreadr.rds", frame)
print("codes written by rdata           ", codes("rdata.rds"))
print("written by rdata, read by rdata  ", texts(rdata.read_rds("rdata.rds")["grade"]))
print("written by rdata, read by pyreadr", texts(pyreadr.read_r("rdata.rds")[None]["grade"]))
print("codes written by pyreadr         ", codes("pyreadr.rds"))
print("written by pyreadr, read by rdata", texts(rdata.read_rds("pyreadr.rds")["grade"]))
assert codes("rdata.rds") == [1, 0, 3]
assert codes("pyreadr.rds") == [1, None, 3]
assert texts(rdata.read_rds("rdata.rds")["grade"]) == ["low", "high", "high"]
assert texts(pyreadr.read_r("rdata.rds")[None]["grade"]) == ["low", None, "high"]
assert texts(rdata.read_rds("pyreadr.rds")["grade"]) == ["low", None, "high"]
print("a missing grade is the highest one")
PYTHON
