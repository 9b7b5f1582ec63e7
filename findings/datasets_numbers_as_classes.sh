#!/usr/bin/env bash
# Hugging Face datasets sorts ratings that are numbers by the alphabet, and reads them as places when it is given names.
#
# `class_encode_column` makes classes of a column; a stratified split requires them. It sorts the values as text, numbers
# too: of ratings from 1 to 10, 10 is the second class, so that a loss or a metric of ordered classes calls it a neighbour
# of 1 and 2. `cast_column` with a ClassLabel that names the ratings in their order does not help: numbers are taken as
# places, counted from 0, so that 1 is the class of the name "2", and 10, a place that does not exist, is kept. The same
# numbers as text get the right class. Nothing warns.
#
#   ratings                                                       1    2    9    10
#   class_encode_column                                           0    2    3    1
#   cast_column, ClassLabel(names=["1", ..., "10"]), numbers     "2"  "3"  "10"  none, int2str raises
#   cast_column, ClassLabel(names=["1", ..., "10"]), text        "1"  "2"  "9"  "10"
#
# Seen with Python 3.11, datasets 5.2.0, pandas 3.0.1, pyarrow 26.0.1. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet datasets==5.2.0 pandas==3.0.1 pyarrow==26.0.1
cd "$work"
export HF_HOME="$work/cache"
venv/bin/python - <<'PYTHON'
import datasets

datasets.disable_progress_bars()
SCALE = [str(rating) for rating in range(1, 11)]
ratings = [1, 2, 9, 10]
films = datasets.Dataset.from_dict({"rating": ratings})
encoded = films.class_encode_column("rating")
print("class_encode_column", encoded.features["rating"].names, encoded["rating"][:])
assert encoded.features["rating"].names == ["1", "10", "2", "9"]
assert encoded["rating"][:] == [0, 2, 3, 1]

named = datasets.ClassLabel(names=SCALE)
cast = films.cast_column("rating", named)["rating"][:]
print("cast_column, numbers", cast, named.int2str(cast[:3]))
assert cast == ratings
assert named.int2str(cast[:3]) == ["2", "3", "10"]
try:
    named.int2str(cast[3])
except ValueError as error:
    print("int2str:", error)
else:
    raise AssertionError("place 10 has a name")

texts = datasets.Dataset.from_dict({"rating": [str(rating) for rating in ratings]}).cast_column("rating", named)
print("cast_column, text   ", texts["rating"][:], named.int2str(texts["rating"][:]))
assert named.int2str(texts["rating"][:]) == ["1", "2", "9", "10"]
print("numbers are sorted as text, and are the places of names")
PYTHON
