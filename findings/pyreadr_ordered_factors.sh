#!/usr/bin/env bash
# pyreadr forgets that a factor of R is ordered when it reads, and neither pyreadr nor rdata writes one.
#
# R's ordered factors have the class c("ordered", "factor"), and pandas has ordered categories for them. pyreadr reads
# an ordered factor as categories that are not ordered: max() and grade > "low" raise a TypeError, and a program that
# looks at the type takes the grades for names. rdata reads the same file as ordered categories. Both packages write
# ordered categories as a plain factor: in a file that has been through Python, R's is.ordered() is FALSE, and a model
# formula has treatment contrasts instead of polynomial ones. Nothing warns. The levels keep their order.
#
#   ordered factor in the file         pyreadr: ordered=False    rdata: ordered=True
#   ordered categories are written     pyreadr: class "factor"   rdata: class "factor"
#
# Seen with Python 3.11, pyreadr 0.5.8, rdata 1.1.0, pandas 3.0.1. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet pyreadr==0.5.8 rdata==1.1.0 pandas==3.0.1
cd "$work"
venv/bin/python - <<'PYTHON'
import pandas as pd
import pyreadr
import rdata

grades = pd.Categorical(["low", "high", "mid", "low"], categories=["low", "mid", "high"], ordered=True)
frame = pd.DataFrame({"grade": grades})


def classes(path):
    attributes = rdata.parser.parse_file(path, extension=".rds").object.value[0].attributes
    while attributes.tag.value.value != b"class":
        attributes = attributes.value[1]
    return [each.value for each in attributes.value[0].value]


pyreadr.write_rds("pyreadr.rds", frame)
rdata.write_rds("rdata.rds", frame, compression=None)
print("class in the file of pyreadr", classes("pyreadr.rds"), "of rdata", classes("rdata.rds"))
assert classes("pyreadr.rds") == classes("rdata.rds") == [b"factor"]

# The class "factor", a vector of one text in R's format, becomes c("ordered", "factor"), as R itself writes it.
with open("rdata.rds", "rb") as file:
    content = file.read()
vector, text = bytes.fromhex("00000010"), content[content.index(b"factor") - 8 : content.index(b"factor") - 4]
before = vector + (1).to_bytes(4, "big") + text + (6).to_bytes(4, "big") + b"factor"
after = vector + (2).to_bytes(4, "big") + text + (7).to_bytes(4, "big") + b"ordered" + text + (6).to_bytes(4, "big") + b"factor"
assert content.count(before) == 1
with open("ordered.rds", "wb") as file:
    file.write(content.replace(before, after))
assert classes("ordered.rds") == [b"ordered", b"factor"]

by_rdata = rdata.read_rds("ordered.rds")["grade"]
by_pyreadr = pyreadr.read_r("ordered.rds")[None]["grade"]
print("ordered, read by rdata", by_rdata.dtype.ordered, "by pyreadr", by_pyreadr.dtype.ordered)
assert by_rdata.dtype.ordered and by_rdata.max() == "high"
assert not by_pyreadr.dtype.ordered and by_pyreadr.cat.categories.tolist() == ["low", "mid", "high"]
try:
    by_pyreadr.max()
except TypeError as error:
    print("max:", error)
else:
    raise AssertionError("grades have a maximum")
print("ordered factors lose their order")
PYTHON
