import ast
import copy
import pickle
import re
from pathlib import Path

import pytest

import ordinate
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


def strings_outside_docstrings(path):
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and is_documented(node)
    }
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [node.value for node in texts if id(node) not in docstrings]


def is_documented(node):
    return ast.get_docstring(node) is not None


def test_the_library_names_no_option_of_a_command():
    """Messages that Python sees too name arguments by :func:`~ordinate.errors.argument`."""
    source = Path(ordinate.__file__).parent
    modules = [
        path
        for path in source.rglob("*.py")
        if "commands" not in path.parts and path.name not in {"cli.py", "errors.py"}
    ]
    assert len(modules) > 100
    for module in modules:
        found = [text for text in strings_outside_docstrings(module) if re.search(r"(^|[^-\w])--[a-z]", text)]
        assert found == [], module
