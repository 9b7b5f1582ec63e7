#!/usr/bin/env bash
# pydicom: a palette or a VOI table with 8-bit entries and more than 256 of them is looked up modulo 256.
#
# Versions: pydicom 3.0.2, numpy 2.4.6, Python 3.11.
#
# The first number of a table's descriptor is the number of its entries (up to 65,536), the third the bits of each entry.
# They are independent: a 12-bit image may have a palette of 4,096 entries of 8 bits (DICOM PS3.3 C.7.6.3.1.5), and a VOI
# table likewise (C.11.2.1.1: 8 to 16 bits per entry). `apply_color_lut` and `apply_voi` keep the index of the entry in an
# array of the entries' type. With 8 bits it wraps: the pixel 256 gets the first colour, 4,095 the one of 255. Nothing is
# raised and no warning is given; the picture looks like contour lines. With 16-bit entries the same table is right.
#
# Output seen:
#   stored values:         [0, 255, 256, 2048, 4095]
#   entries of the table:  [0, 15, 16, 128, 255]
#   apply_color_lut:       [0, 15, 0, 0, 15]
#   apply_voi:             [0, 15, 0, 0, 15]
#   16-bit entries:        [0, 15, 16, 128, 255]
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydicom==3.0.2 "numpy<2.5"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_color_lut, apply_voi

stored = np.array([0, 255, 256, 2048, 4095], dtype=np.uint16)
table = (np.arange(4096) // 16).astype(np.uint8)  # From black to white.
expected = table[stored].tolist()


def by_palette(bits):
    file = Dataset()
    file.PhotometricInterpretation = "PALETTE COLOR"
    for colour in ("Red", "Green", "Blue"):
        setattr(file, f"{colour}PaletteColorLookupTableDescriptor", [4096, 0, bits])
        setattr(file, f"{colour}PaletteColorLookupTableData", table.astype(f"<u{bits // 8}").tobytes())
    return apply_color_lut(stored, file)[..., 0].tolist()


def by_voi_table():
    item = Dataset()
    item.add_new("LUTDescriptor", "US", [4096, 0, 8])
    item.add_new("LUTData", "US", table.tolist())
    file = Dataset()
    file.VOILUTSequence = [item]
    return apply_voi(stored, file).tolist()


print("stored values:        ", stored.tolist())
print("entries of the table: ", expected)
print("apply_color_lut:      ", by_palette(8))
print("apply_voi:            ", by_voi_table())
print("16-bit entries:       ", by_palette(16))
assert by_palette(16) == expected
wrapped = table[stored % 256].tolist()
assert by_palette(8) == by_voi_table() == wrapped != expected, "the tables are no longer looked up modulo 256"
PYTHON
