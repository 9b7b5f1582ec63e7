"""The examples of guides run one after the other, as the guides say."""

import re
import warnings
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[1] / "docs/guides"


@pytest.mark.parametrize("name", ["losses", "trainers"])
def test_the_examples_of_a_guide_run_one_after_the_other(name):
    if name == "trainers":
        pytest.importorskip("pytorch_metric_learning")
        pytest.importorskip("skorch")
    text = (GUIDES / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    known = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks:
            exec(compile(block, name, "exec"), known)  # The guides are ours.
