"""What holds for the tests of every command."""

import pytest

from ordinate.errors import arguments_as_typed


@pytest.fixture(scope="module", autouse=True)
def quickly(unpainted, few_trees):
    """No command's test looks at a picture here, nor at how well a blend predicts."""


@pytest.fixture(autouse=True)
def as_typed(request):
    """Messages of commands name options, also where a test calls the function of a command."""
    if request.path.stem == "test_call":  # It calls what Python calls.
        yield
    else:
        with arguments_as_typed():
            yield
