import copy
import pickle

import pytest

from ordinate.cli import main
from ordinate.errors import OrdinateError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OrdinateError("k", 0, "at least 1"), "k: got 0, expected at least 1"),
        (OrdinateError("k", None, "a number"), "k: expected a number"),
        (OrdinateError("k", 0, "at least 1", "give --k 1"), "k: got 0, expected at least 1; give --k 1"),
        (OrdinateError("a.csv", problem="no such file"), "a.csv: no such file"),
        (
            OrdinateError("X", problem="holds infinity", expected="finite numbers"),
            "X: holds infinity, expected finite numbers",
        ),
        (OrdinateError("a message of its own"), "a message of its own"),
        (OrdinateError("order", "", "two ranks"), "order: got , expected two ranks"),
    ],
)
def test_an_error_names_the_argument_what_it_got_what_is_expected_and_the_way_out(error, message):
    assert str(error) == message
    for copied in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert str(copied) == message
        assert vars(copied) == vars(error)


def test_an_error_can_be_that_of_another_argument():
    error = OrdinateError("margins", -1, "a number above 0", "take some").of("critical_margins")
    assert str(error) == "critical_margins: got -1, expected a number above 0; take some"


def test_the_command_names_its_options_as_they_are_typed(tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("a,grade\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    assert main(["fit", str(table)]) == 2
    assert capsys.readouterr().err.startswith("ordinate: --target: ")
