"""The faults that are seeded to see that the tests catch them."""

import re

import pytest

import faults
from tests.benchmarks.conftest import BENCHMARKS

FAULTS = faults.read_faults()
ROOT = BENCHMARKS.parent


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_seeded_and_its_tests_exist(fault):
    assert fault.place().is_relative_to(ROOT / "src")
    assert fault.tests
    for test in fault.tests:
        file, _, name = test.partition("::")
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE)


def test_a_fault_whose_line_has_changed_is_noticed(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\n")
    fault = faults.Fault("f", "x = 1", "x = 2", "", [])
    assert fault.place(tmp_path).name == "a.py"
    for text in ("x = 3\n", "x = 1\nx = 1\n"):
        (tmp_path / "src" / "a.py").write_text(text)
        with pytest.raises(SystemExit, match="expected it once"):
            fault.place(tmp_path)


@pytest.mark.parametrize(("test", "passes"), [("assert 1 + 1 == 2", True), ("assert 1 + 1 == 3", False)])
def test_a_test_that_fails_catches_a_fault(tmp_path, test, passes):
    (tmp_path / "test_a.py").write_text(f"def test_a():\n    {test}\n")
    assert faults.tests_pass(["test_a.py"], tmp_path) is passes
