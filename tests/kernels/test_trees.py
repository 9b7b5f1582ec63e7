"""Trees as a compiled loop reach the leaves that they reach in PyTorch."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesRegressor

from ordinate import kernels
from ordinate.encoders import trees
from ordinate.encoders.trees import Trees

pytest.importorskip("numba", reason="numba is not installed")
X = np.random.default_rng(0).normal(size=(300, 4)).round(1).astype(np.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_loop_predicts_what_pytorch_does(dtype, monkeypatch):
    forest = ExtraTreesRegressor(20, random_state=0).fit(X, np.stack([X[:, 0] * X[:, 1], X[:, 2]], 1))
    module = Trees.of_forest(forest, lambda values: values, np.arange(4)).to(dtype)
    x = torch.from_numpy(X).to(dtype)
    assert len(x) >= trees.MANY_SAMPLES
    fast = module(x)
    monkeypatch.setattr(kernels, "NUMBA", False)
    torch.testing.assert_close(fast, module(x), rtol=1e-6, atol=1e-6)
    assert fast.dtype == dtype


def test_nodes_in_a_circle_end_at_the_depth():
    module = Trees(trees=1, nodes=2, outputs=1, depth=5)
    module.left[:] = module.right[:] = torch.tensor([1, 0])
    assert module(torch.zeros(300, 1)).shape == (300, 1)
