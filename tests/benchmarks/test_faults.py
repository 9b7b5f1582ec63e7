"""The faults that are seeded to see which test catches each."""

import json
import subprocess
import sys

from tests.benchmarks.conftest import BENCHMARKS


def test_every_fault_of_the_results_can_still_be_planted():
    checked = subprocess.run(
        [sys.executable, BENCHMARKS / "faults.py", "check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    tried = json.loads((BENCHMARKS / "results" / "faults.json").read_text())
    assert checked.stdout == f"{len(tried)} faults can be planted\n"
