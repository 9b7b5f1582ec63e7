#!/usr/bin/env bash
# pydicom: the same valid JPEG file has right colours by the GDCM plugin and wrong ones by the Pillow plugin.
#
# Versions: pydicom 3.0.2, pillow 12.0.0, python-gdcm 3.2.6, numpy 2.4.6, Python 3.11.
#
# A DICOM file of JPEG Baseline has Photometric Interpretation YBR_FULL_422, and its JPEG stream the Adobe marker (APP14)
# that says the same: transformed to YCbCr. Streams of Photoshop, Java ImageIO and others have this marker instead of
# JFIF's. `pixel_array` returns RGB. The Pillow plugin hands over what Pillow has already converted to RGB where the
# marker is there, but leaves the photometric interpretation at YBR_FULL_422, so that pydicom converts a second time.
# Without the marker, and by GDCM, the colours are right. Which plugin runs depends on the packages that are installed.
#
# Output seen (one colour, red 200, green 90, blue 30):
#   without the marker  pillow [200, 90, 29]
#   without the marker  gdcm   [200, 90, 29]
#   with the marker     pillow [61, 255, 133]
#   with the marker     gdcm   [200, 90, 29]
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydicom==3.0.2 pillow==12.0.0 python-gdcm==3.2.6 "numpy<2.5"
"$folder/venv/bin/python" - <<'PYTHON'
import io

import numpy as np
from PIL import Image
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.pixels import pixel_array
from pydicom.uid import JPEGBaseline8Bit

colour = np.array([200, 90, 30])
written = io.BytesIO()
Image.fromarray(np.full((16, 16, 3), colour, dtype=np.uint8)).save(written, "JPEG", quality=100)
stream = written.getvalue()
stream = stream[stream.index(b"\xff\xdb") :]  # Without the start and the marker of JFIF.
ADOBE_YCBCR = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x01"


def shown(marker, plugin):
    file = Dataset()
    file.file_meta = FileMetaDataset()
    file.file_meta.TransferSyntaxUID = JPEGBaseline8Bit
    file.Rows = file.Columns = 16
    file.SamplesPerPixel, file.PlanarConfiguration = 3, 0
    file.PhotometricInterpretation = "YBR_FULL_422"
    file.BitsAllocated = file.BitsStored = 8
    file.HighBit, file.PixelRepresentation = 7, 0
    file.PixelData = encapsulate([b"\xff\xd8" + marker + stream])
    return pixel_array(file, decoding_plugin=plugin)[8, 8].tolist()


found = {}
for name, marker in (("without the marker", b""), ("with the marker", ADOBE_YCBCR)):
    for plugin in ("pillow", "gdcm"):
        found[name, plugin] = shown(marker, plugin)
        print(f"{name:19} {plugin:6} {found[name, plugin]}")
wrong = found.pop(("with the marker", "pillow"))
assert all(np.abs(np.array(right) - colour).max() <= 3 for right in found.values())
assert np.abs(np.array(wrong) - colour).max() > 50, "the colours are no longer converted twice"
PYTHON
