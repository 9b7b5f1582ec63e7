#!/usr/bin/env bash
# pydicom: a window (VOI LUT) turns an image whose Rescale Slope is below 0 into its negative.
#
# Versions: pydicom 3.0.2, numpy 2.4.6, Python 3.11.
#
# A slope below 0 is valid: some computed radiography systems store MONOCHROME2 images with a slope of -1 or -10, so that
# high stored values are low (black) values. By DICOM PS3.3 C.11.2.1.2.1, values after rescaling that are at or below the
# window become the minimum of the output range, those above it the maximum; grey increases with the rescaled value.
# `apply_windowing` computes the ends of the output range from the lowest and highest stored value. With a slope below 0
# the "minimum" is therefore the larger number: high values become black and low ones white. No warning is given.
# A slope of +1 with the same rescaled values is shown rightly. (DCMTK's dcm2pnm shows both files the same way.)
#
# Output seen:
#   rescaled values:   [-4000, -3000, -2000, -1000, 0]
#   slope +1 windowed: [0.0, 0.175, 0.5, 0.825, 1.0]
#   slope -1 windowed: [1.0, 0.825, 0.5, 0.175, 0.0]
#   the grey of the same values is inverted where the slope is -1
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydicom==3.0.2 "numpy<2.5"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_modality_lut, apply_windowing

wanted = np.array([-4000, -3000, -2000, -1000, 0])


def shown(slope):
    """Return the rescaled values and their grey from 0 to 1, where 1 is the maximum of the output range."""
    file = Dataset()
    file.PhotometricInterpretation = "MONOCHROME2"
    file.PixelRepresentation = int(slope > 0)  # The stored values are below 0 where the slope is above it.
    file.BitsStored = 13 if slope > 0 else 12
    file.RescaleSlope, file.RescaleIntercept = slope, 0
    file.WindowCenter, file.WindowWidth = -2000, 3077
    stored = (wanted / slope).astype(np.int16 if slope > 0 else np.uint16)
    values = apply_modality_lut(stored, file)
    grey = apply_windowing(values, file)
    low, high = grey.min(), grey.max()
    return values, (grey - low) / (high - low)


values, plain = shown(+1)
same, inverted = shown(-1)
assert (values == same).all()
print("rescaled values:  ", values.astype(int).tolist())
print("slope +1 windowed:", plain.round(3).tolist())
print("slope -1 windowed:", inverted.round(3).tolist())
assert (np.diff(plain) >= 0).all(), "a slope of 1 no longer gives grey that increases with the value"
assert (np.diff(inverted) <= 0).all() and inverted[0] > inverted[-1], "a slope below 0 is no longer inverted"
print("the grey of the same values is inverted where the slope is -1")
PYTHON
