#!/usr/bin/env bash
# torchvision: white becomes black where float32 pixels are converted to uint16.
#
# `to_dtype(image, torch.uint16, scale=True)`, and the transform `ToDtype`, multiply by 65,536 - 0.001 and drop the
# fraction, so that 1.0 should become 65,535. float32 has no such number: the factor rounds to 65,536, and its product
# with 1.0 wraps to 0. Transforms that work in float32 inside do this to uint16 images: a gamma of 1 and a hue shifted by
# 0, which should change nothing, turn white pixels black, so that the brightest spot of a scan is a hole. Nothing warns.
# Values that are almost white are right, and so are uint8 and float64. For int32 and int64 torchvision raises.
#
#   float32 0, 0.25, 0.5, 0.9999, 1    to uint8     0  63     127    255    255
#                                      to uint16    0  16384  32768  65529  0
#   float64                            to uint16    0  16383  32767  65529  65535
#   uint16 0, 1000, 40000, 65535       gamma 1      0  1000   40000  0
#                                      hue + 0      0  1000   40000  0
#
# Seen with Python 3.11, torchvision 0.29.2, torch 2.15.0. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet torchvision==0.29.2 torch==2.15.0 numpy==2.4.6
cd "$work"
venv/bin/python - <<'PYTHON'
import torch
from torchvision.transforms import v2
from torchvision.transforms.v2.functional import adjust_gamma, adjust_hue, to_dtype

shares = torch.tensor([[[0, 0.25, 0.5, 0.9999, 1]]], dtype=torch.float64)
stored = torch.tensor([[[0, 1000, 40000, 65535]]], dtype=torch.uint16)
tests = {
    "float32 to uint8": to_dtype(shares.float(), torch.uint8, scale=True),
    "float32 to uint16": to_dtype(shares.float(), torch.uint16, scale=True),
    "float64 to uint16": to_dtype(shares, torch.uint16, scale=True),
    "gamma 1": adjust_gamma(stored, 1.0),
    "hue + 0": adjust_hue(stored.expand(3, 1, 4), 0.0)[:1],
}
found = {name: image.flatten().tolist() for name, image in tests.items()}
for name, values in found.items():
    print(f"{name:18}", values)
assert found["float32 to uint8"] == [0, 63, 127, 255, 255]
assert found["float32 to uint16"] == [0, 16384, 32768, 65529, 0]
assert found["float64 to uint16"] == [0, 16383, 32767, 65529, 65535]
assert found["gamma 1"] == found["hue + 0"] == [0, 1000, 40000, 0]

there_and_back = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.ToDtype(torch.uint16, scale=True)])
assert there_and_back(stored).flatten().tolist() == [0, 1000, 40000, 0]
try:
    to_dtype(shares.float(), torch.int32, scale=True)
except RuntimeError as error:
    print("int32:", error)
else:
    raise AssertionError("float32 is converted to int32")
print("white of 16 bits is black")
PYTHON
