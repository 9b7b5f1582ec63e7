#!/usr/bin/env bash
# torch.onnx.export deletes the epsilon of `x / (x.norm() + 1e-9)`.
#
# The exporter of torch.export (dynamo=True, the default since PyTorch 2.9) optimizes the graph with onnxscript by
# default. Its rules for operations without effect, x + 0, x - 0, x * 1 and x / 1, match a constant with the tolerances
# of the pattern matcher, 1e-8 absolute and 1e-5 relative. So constants that are not 0 and not 1 are dropped, in float64
# as in float32:
#
#   x / (x.norm() + 1e-9)  at x = 0:  PyTorch 0,        ONNX nan
#   log(x + 1e-9)          at x = 0:  PyTorch -20.7,    ONNX -inf
#   x * 1.000009           at x = 1:  PyTorch 1.000009, ONNX 1
#
# The export prints no warning. With optimize=False, and with a constant a little above 1e-8, the graph is right.
# Seen with Python 3.11, torch 2.15.0, onnxscript 0.7.2, onnx 1.23.2, onnxruntime 1.31.1. Exits with an error if the
# behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet torch==2.15.0 onnxscript==0.7.2 onnx==1.23.2 onnxruntime==1.31.1 numpy==2.4.4
cd "$work"
venv/bin/python - <<'PYTHON' 2>errors || { cat errors; exit 1; }
import numpy as np
import onnxruntime
import torch


class Formula(torch.nn.Module):
    def __init__(self, formula):
        super().__init__()
        self.formula = formula

    def forward(self, x):
        return self.formula(x)


def exported(formula, x, **options):
    torch.onnx.export(Formula(formula), (torch.ones_like(x),), "m.onnx", input_names=["x"], verbose=False, **options)
    return onnxruntime.InferenceSession("m.onnx").run(None, {"x": x.numpy()})[0].ravel()[0]


cases = {
    "x / (x.norm() + 1e-9)": (lambda x: x / (x.norm() + 1e-9), 0.0, np.nan),
    "log(x + 1e-9)": (lambda x: torch.log(x + 1e-9), 0.0, -np.inf),
    "x * 1.000009": (lambda x: x * 1.000009, 1.0, 1.0),
}
for name, (formula, at, wrong) in cases.items():
    for dtype in (torch.float32, torch.float64):
        x = torch.full((1, 3), at, dtype=dtype)
        right = formula(x)[0, 0].item()
        found, plain = exported(formula, x), exported(formula, x, optimize=False)
        print(f"{name} at {at}, {dtype}: PyTorch {right:.7g}, ONNX {found:.7g}, ONNX with optimize=False {plain:.7g}")
        np.testing.assert_allclose(plain, right, rtol=1e-6)
        np.testing.assert_equal(float(found), wrong)
larger = exported(lambda x: x / (x.norm() + 1.1e-8), torch.zeros(1, 3))
assert larger == 0, larger
print("constants within 1e-8 of 0 and 1e-5 of 1 are dropped")
PYTHON
