"""The csv that commands write: twelve digits, the same by pyarrow and by pandas."""

import io

import numpy as np
import pandas as pd
import pytest

from ordinate.commands import csv_text as module
from ordinate.commands.csv_text import csv_text, with_digits

RANDOM = np.random.default_rng(0)


def test_numbers_have_the_digits_that_formatting_gives_them():
    values = RANDOM.choice([-1.0, 1.0], 3000) * 10.0 ** RANDOM.uniform(-40, 40, 3000)
    values = np.concatenate([values, RANDOM.random(3000), [0.0, -0.0, 1.0, 1e22, np.nan, np.inf, -np.inf]])
    expected = np.array([float(f"{value:.12g}") for value in values])
    found = with_digits(values)
    np.testing.assert_allclose(found, expected, rtol=1.1e-11)  # A half may be rounded to either side.
    assert (found == expected)[np.isfinite(values)].mean() > 0.999
    assert str(with_digits(np.array([2 / 3, -0.0])).tolist()) == "[0.666666666667, 0.0]"


@pytest.mark.parametrize("header", [True, False])
def test_pyarrow_and_pandas_write_the_same(header, monkeypatch):
    pytest.importorskip("pyarrow")
    numbers = np.concatenate([RANDOM.random(50), [0.0, np.nan, 1.0, 250.0]])
    frame = pd.DataFrame({"row": np.arange(54), 'a "b", c': numbers, "d": numbers.astype(np.float32)})
    fast = csv_text(frame, header=header)
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    slow = csv_text(frame, header=header)
    assert fast.count("\n") == slow.count("\n")
    assert fast.splitlines()[0] == slow.splitlines()[0] if header else True
    read = [pd.read_csv(io.StringIO(text), header=0 if header else None) for text in (fast, slow)]
    pd.testing.assert_frame_equal(*read, rtol=1e-11)


def test_text_is_written_by_pandas():
    assert csv_text(pd.DataFrame({"label": ["a,b"], "p": [1 / 3]}), header=True) == 'label,p\n"a,b",0.333333333333\n'
