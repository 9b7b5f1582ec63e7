#!/usr/bin/env bash
# pydicom: the colours of a palette are swapped byte by byte where the file is big endian.
#
# Versions: pydicom 3.0.2, pydicom-data 1.0.0, numpy 2.4.6, Python 3.11.
#
# Two of pydicom's own test files hold the same ultrasound image, one in Explicit VR Little Endian, one in Explicit VR Big
# Endian. The stored indices are read as the same numbers. The entries of the palette have 16 bits; `apply_color_lut` takes
# their bytes in the order of the machine, whatever the file's is: 0xff00 becomes 0x00ff, so that the picture, whose high
# bytes are shown, is black. A palette in segments is right, as its bytes are unpacked in the order of the file.
#
# Output seen:
#   the same indices: True
#   little endian: brightest entry 65280
#   big endian:    brightest entry 255
#   the same colours: False, after swapping the bytes: True
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydicom==3.0.2 pydicom-data==1.0.0 "numpy<2.5"
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.util
from pathlib import Path

from pydicom import dcmread
from pydicom.pixels.processing import apply_color_lut

folder = Path(importlib.util.find_spec("data_store").origin).parent / "data"
little, big = (dcmread(folder / name) for name in ("OBXXXX1A.dcm", "OBXXXX1A_expb.dcm"))
print("the same indices:", bool((little.pixel_array == big.pixel_array).all()))
right, swapped = (apply_color_lut(file.pixel_array, file) for file in (little, big))
print("little endian: brightest entry", int(right.max()))
print("big endian:    brightest entry", int(swapped.max()))
is_same, is_swapped = bool((right == swapped).all()), bool((right == swapped.byteswap()).all())
print(f"the same colours: {is_same}, after swapping the bytes: {is_swapped}")
assert (little.pixel_array == big.pixel_array).all()
assert not is_same and is_swapped, "the palette is no longer swapped"
PYTHON
