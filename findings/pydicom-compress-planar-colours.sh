#!/usr/bin/env bash
# pydicom: `compress()` scrambles the colours of a file that stores them plane by plane.
#
# Versions: pydicom 3.0.2, pylibjpeg 2.1.0, pylibjpeg-openjpeg 2.6.0, imagecodecs 2026.3.6, numpy 2.4.6, Python 3.11.
#
# Uncompressed colours may be stored pixel by pixel (Planar Configuration 0) or plane by plane (1); ultrasound devices do
# both, and `pixel_array` reads both. `Dataset.compress()` hands the bytes of the planes to the encoder as if they were
# pixels. RLE Lossless: `pixel_array` after `compress()` is another picture than before, from a lossless compression. JPEG
# 2000 Lossless: pydicom undoes the mistake when it reads the file, as PlanarConfiguration stays 1; other decoders of the
# same stream see scrambled colours. JPEG-LS, whose streams have planes, is right. No warning is given.
#
# Output seen:
#   by pixel (0): RLE by pydicom True, JPEG 2000 by pydicom True, JPEG 2000 by imagecodecs True
#   by plane (1): RLE by pydicom False, JPEG 2000 by pydicom True, JPEG 2000 by imagecodecs False
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydicom==3.0.2 pylibjpeg==2.1.0 pylibjpeg-openjpeg==2.6.0 imagecodecs==2026.3.6 \
    "numpy<2.5"
"$folder/venv/bin/python" - <<'PYTHON'
import imagecodecs
import numpy as np
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import get_frame
from pydicom.uid import ExplicitVRLittleEndian, JPEG2000Lossless, RLELossless, generate_uid

colours = np.random.default_rng(0).integers(0, 256, (64, 48, 3)).astype(np.uint8)


def file_of(planar):
    file = Dataset()
    file.file_meta = FileMetaDataset()
    file.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    file.SOPInstanceUID = generate_uid()
    file.Rows, file.Columns = colours.shape[:2]
    file.SamplesPerPixel, file.PlanarConfiguration, file.PhotometricInterpretation = 3, planar, "RGB"
    file.BitsAllocated = file.BitsStored = 8
    file.HighBit, file.PixelRepresentation = 7, 0
    file.PixelData = (colours.transpose(2, 0, 1) if planar else colours).tobytes()
    assert (file.pixel_array == colours).all()
    return file


def compressed(planar, syntax):
    file = file_of(planar)
    file.compress(syntax)
    return file


found = {}
for name, planar in (("by pixel (0)", 0), ("by plane (1)", 1)):
    rle, jpeg_2000 = (compressed(planar, syntax) for syntax in (RLELossless, JPEG2000Lossless))
    stream = get_frame(jpeg_2000.PixelData, 0, number_of_frames=1)
    same = {
        "RLE by pydicom": bool((rle.pixel_array == colours).all()),
        "JPEG 2000 by pydicom": bool((jpeg_2000.pixel_array == colours).all()),
        "JPEG 2000 by imagecodecs": bool((imagecodecs.jpeg2k_decode(stream) == colours).all()),
    }
    found[planar] = list(same.values())
    print(f"{name}:", ", ".join(f"{reader} {is_same}" for reader, is_same in same.items()))
assert found[0] == [True, True, True]
assert found[1] == [False, True, False], "the colours of planes are no longer scrambled"
PYTHON
