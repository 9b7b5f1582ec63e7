"""What holds for the tests of every command."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def without_pictures(unpainted):
    """No command's test looks at a picture here."""
