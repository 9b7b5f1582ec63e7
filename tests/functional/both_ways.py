"""A module that imports the fixture runs all its tests twice: with rows in compiled loops, and in PyTorch."""

import pytest

from ordinate import kernels


@pytest.fixture(scope="module", autouse=True, params=[True, False], ids=["compiled", "torch"])
def compiled_and_not(request):
    if request.param and not kernels.NUMBA:
        pytest.skip("numba is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "NUMBA", request.param)
        yield
