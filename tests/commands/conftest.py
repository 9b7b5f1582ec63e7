"""What holds for the tests of every command."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def quickly(unpainted, few_trees):
    """No command's test looks at a picture here, nor at how well a blend predicts."""
