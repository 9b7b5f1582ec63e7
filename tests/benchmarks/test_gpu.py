"""The run on a GPU, on a processor: it finds what is wrong, and keeps what it found."""

import dataclasses
import json
import os
import subprocess
import sys

import pytest
import torch

import gpu
import gpu_kernels
import gpu_record
import gpu_wheels
from tests.benchmarks.conftest import BENCHMARKS

ROW = {"case": "ties", "dtype": "float32", "rows in kernels": 3, "right": True}


@pytest.fixture
def folder(tmp_path):
    gpu_record.write(tmp_path, {"title": "A run", "sections": {}})
    return tmp_path


@pytest.mark.thorough
def test_the_smoke_run_finds_nothing_wrong(tmp_path):
    environment = os.environ | {"PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    environment.pop("TRITON_INTERPRET", None)  # which the run sets itself
    command = ["bash", BENCHMARKS / "gpu.sh", "--smoke", "--out", tmp_path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    sections = json.loads((tmp_path / "gpu.json").read_text())["sections"]
    assert list(sections) == [name for name, section in gpu.SECTIONS.items() if section.smoke]
    for name, section in sections.items():
        assert section["rows"], name
        assert "error" not in section, name
    assert all(row["right"] for row in sections["processes"]["rows"])
    assert "Kernels: all right." in (tmp_path / "gpu.md").read_text()


@pytest.mark.parametrize("factor", [1.0, 1.0001])
def test_a_wrong_kernel_is_found(factor, folder, monkeypatch):
    loss = gpu_kernels.LOSSES["mmnp"]
    wrong = dataclasses.replace(loss, fast=lambda *args, **options: factor * loss.fast(*args, **options))
    monkeypatch.setitem(gpu_kernels.LOSSES, "mmnp", wrong)
    monkeypatch.setattr(gpu_kernels, "DTYPES", (torch.float32,))
    gpu_kernels.check("mmnp", "cpu", gpu_record.Record(folder, "kernels mmnp", 60.0), smoke=True)
    found = gpu_record.wrong_kernels(gpu_record.read(folder))
    assert found == ([] if factor == 1 else ["kernels mmnp, typical, float32"])


@pytest.mark.parametrize(
    ("section", "wrong"),
    [
        ({"rows": [ROW]}, []),
        ({"rows": [ROW | {"right": False}]}, ["kernels otd, ties, float32"]),
        ({"rows": [ROW], "error": "ended with -9"}, ["kernels otd failed"]),
        ({"rows": [ROW | {"rows in kernels": 0}]}, ["kernels otd ran none"]),
        ({"rows": []}, ["kernels otd ran none"]),
    ],
)
def test_what_is_not_known_to_be_right_is_wrong(section, wrong):
    assert gpu_record.wrong_kernels({"sections": {"kernels otd": section, "processes": {"rows": []}}}) == wrong


@pytest.mark.parametrize(
    ("script", "error"),
    [("raise SystemExit('no card')", "ended with 1\nno card"), ("import time; time.sleep(60)", "ended after 1 s")],
    ids=["fails", "hangs"],
)
def test_a_section_that_fails_costs_the_others_nothing(script, error, folder, monkeypatch):
    stand_in = folder / "gpu.py"
    stand_in.write_text(f"import sys\nif 'processes' in sys.argv:\n    {script}\n")
    monkeypatch.setattr(gpu, "__file__", str(stand_in))
    monkeypatch.setitem(gpu.SECTIONS, "processes", gpu.Section(gpu.processes, 1))
    monkeypatch.setitem(gpu.SECTIONS, "environment", gpu.Section(gpu.environment, 9))
    gpu_record.Record(folder, "processes", 1.0).add(loss="supcr")
    gpu.run_all(["processes", "environment"], folder, 10.0, "cpu")
    sections = gpu_record.read(folder)["sections"]
    assert sections["processes"]["rows"] == [{"loss": "supcr"}]
    assert sections["processes"]["error"] == error
    assert "error" not in sections["environment"]
    assert error in (folder / "gpu.md").read_text()


def test_wheels_are_of_what_the_machine_lacks_and_never_of_torch():
    everything = gpu_wheels.missing(set(), "3.12")
    assert {"lightning", "pytorch-metric-learning", "scipy"} <= set(everything)
    assert not {"torch", "torchvision", "triton", "numpy", "sympy"} & set(everything)
    assert set(gpu_wheels.missing(set(everything) - {"jaxtyping", "wadler-lindig"}, "3.12")) == {
        "jaxtyping",
        "wadler-lindig",
    }
