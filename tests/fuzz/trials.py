"""Random trials, and the outcomes that SECURITY.md allows for them."""

import os
from contextlib import contextmanager

import pytest

from ordinate.cli import main
from ordinate.errors import OrdinateError

FIRST_SEED = int(os.environ.get("ORDINATE_FUZZ_SEED", "0"))


def seeds(quick, thorough):
    """Return seeds of trials: some for every run of the suite, and all for `make thorough`."""
    numbers = range(FIRST_SEED, FIRST_SEED + thorough)
    return [*numbers[:quick], *(pytest.param(number, marks=pytest.mark.thorough) for number in numbers[quick:])]


@contextmanager
def succeeds_or_is_refused(*names):
    """Let the block succeed, or raise an error of one line that contains one of the names."""
    try:
        yield
    except OrdinateError as error:
        line = str(error)
        if "feature names should match" in line:
            # The conformity suite of scikit-learn asks for several lines.
            line = " ".join(line.split())
        assert "\n" not in line
        assert any(name in line for name in names), line
        cause = error.__cause__
        while cause is not None:
            assert not isinstance(cause, MemoryError), line
            cause = cause.__cause__


def run_command(capsys, arguments, *names):
    """Run a command, which must succeed, or end with exit code 2 and one line that contains one of the names."""
    code = main([str(argument) for argument in arguments])
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ordinate: ")]
    if code != 0:
        assert (code, len(lines)) == (2, 1), lines
        assert any(name in lines[0] for name in names), lines
