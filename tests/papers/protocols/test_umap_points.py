"""UMAP changes nothing around it."""

import subprocess
import sys

import pytest

ALONE = """
import numpy, torch
from ordinate_papers.protocols.embedding_map import umap_points
torch.set_num_threads(1)
assert umap_points(numpy.random.default_rng(0).normal(size=(30, 4))).shape == (30, 2)
assert torch.get_num_threads() == 1
"""


@pytest.mark.thorough  # Compiling takes ten seconds.
def test_torch_keeps_its_number_of_threads():
    environment = {"PATH": "", "NUMBA_NUM_THREADS": "2", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", ALONE], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
