"""The run on a GPU, on a processor: it finds wrong kernels, and a section that fails costs the others nothing."""

import dataclasses
import json
import math
import os
import subprocess
import sys

import pytest
import torch

import gpu
import gpu_kernels
from tests.benchmarks.conftest import BENCHMARKS


@pytest.mark.thorough
def test_the_smoke_run_finds_nothing_wrong(tmp_path):
    environment = os.environ | {"PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    environment.pop("TRITON_INTERPRET", None)  # The run sets it itself.
    command = ["bash", BENCHMARKS / "gpu.sh", "--smoke", "--out", tmp_path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong kernels: none" in done.stdout
    sections = json.loads((tmp_path / "gpu.json").read_text())
    assert list(sections) == [name for name, section in gpu.SECTIONS.items() if section.smoke]
    for name, section in sections.items():
        assert section["rows"], name
        assert section["error"] is None, name


@pytest.mark.parametrize("factor", [1.0, 1.0001])
def test_a_wrong_kernel_is_found(factor, monkeypatch):
    loss = gpu_kernels.LOSSES["mmnp"]
    wrong = dataclasses.replace(loss, fast=lambda *args, **options: factor * loss.fast(*args, **options))
    monkeypatch.setitem(gpu_kernels.LOSSES, "mmnp", wrong)
    monkeypatch.setattr(gpu_kernels, "DTYPES", (torch.float32,))
    rows = list(gpu_kernels.check("mmnp", "cpu", math.inf, smoke=True))
    found = gpu.wrong_kernels({"kernels mmnp": {"rows": rows, "error": None}})
    assert found == ([] if factor == 1 else ["kernels mmnp, typical, float32"])


@pytest.mark.parametrize(
    ("script", "error"),
    [("raise SystemExit('no card')", "ended with 1"), ("import time; time.sleep(60)", "ended after 1 s")],
    ids=["fails", "hangs"],
)
def test_a_section_that_fails_costs_the_others_nothing(script, error, tmp_path, monkeypatch, capsys):
    stand_in = tmp_path / "gpu.py"
    printed = "import json, sys\nprint(json.dumps({'loss': 'supcr'}), flush=True)\n"
    stand_in.write_text(f"{printed}if 'training 60x100' in sys.argv:\n    {script}\n")
    monkeypatch.setattr(gpu, "__file__", str(stand_in))
    monkeypatch.setitem(gpu.SECTIONS, "training 60x100", gpu.Section(gpu.training, 1))
    monkeypatch.setitem(gpu.SECTIONS, "environment", gpu.Section(gpu.environment, 9))
    results = gpu.run_all(["training 60x100", "environment"], tmp_path, 10.0, "cpu")
    assert results["training 60x100"] == {"rows": [{"loss": "supcr"}], "error": error}
    assert results["environment"] == {"rows": [{"loss": "supcr"}], "error": None}
    assert json.loads((tmp_path / "gpu.json").read_text()) == results
    assert error in capsys.readouterr().out
