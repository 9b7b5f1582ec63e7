#!/usr/bin/env bash
# pandas' isin() compares bytes without the zero bytes at their end.
#
# A column of digests or of identifiers from a binary file is searched for those that are known. isin() makes an array of
# NumPy's type S of the list of known values, which pads with zero bytes and drops them again when it is read: a value
# that ends in a zero byte is not found in a list that holds it, and the value without that byte, which the list does not
# hold, is. One digest in 256 ends in a zero byte. Of the column [ab\x00, ab, cd]:
#
#   column.isin([ab\x00])             False, True, False
#   index.isin([ab\x00])              False, True, False
#   column.isin(a Series of it)       True, False, False
#   column.map({ab\x00: 1})           found, not found, not found
#   20,000 digests in their own list  19,928 found
#
# Python's set, and isin() with text, find what is there. Seen with Python 3.11, pandas 3.0.1, numpy 2.4.4. Exits with an
# error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet pandas==3.0.1 numpy==2.4.4
cd "$work"
venv/bin/python - <<'PYTHON'
import hashlib

import pandas as pd

known = [b"ab\x00"]
column = pd.Series([b"ab\x00", b"ab", b"cd"])
print("isin a list  ", column.isin(known).tolist())
print("isin a Series", column.isin(pd.Series(known)).tolist())
assert column.isin(known).tolist() == [False, True, False]
assert column.isin(set(known)).tolist() == [False, True, False]
assert pd.Index(column).isin(known).tolist() == [False, True, False]
assert column.isin(pd.Series(known)).tolist() == [True, False, False]
assert column.map({known[0]: 1}).notna().tolist() == [True, False, False]
assert [value in known for value in column] == [True, False, False]

digests = [hashlib.sha256(str(number).encode()).digest() for number in range(20_000)]
found = pd.Series(digests).isin(digests)
print(f"{int(found.sum()):,} of 20,000 digests are in the list of them")
assert found.sum() == 20_000 - sum(digest.endswith(b"\x00") for digest in digests) < 20_000
texts = pd.Series([digest.hex() for digest in digests])
assert texts.isin(texts.tolist()).all()
PYTHON
