import ast
import copy
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import KFold, cross_val_predict

import ordinate
from ordinate.cli import main
from ordinate.errors import OrdinateError
from tests.command_line import fit_model


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


def test_every_warning_shows_the_line_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"a": np.linspace(0, 1, 60), "b": np.arange(60) % 7 / 7})
    grades = np.digitize(table["a"], [0.3, 0.7])
    far = table.assign(a=99.0)
    far.to_csv("far.csv", index=False)
    far.assign(grade=grades).to_csv("labelled.csv", index=False)
    quick = {"batch_size": 24, "embedding_dim": 8, "random_state": 0}
    model = ordinate.CLOCClassifier(epochs=(1, 1), **quick).fit(table, grades)
    of_fit = ordinate.fit(table.assign(grade=grades), "grade", method="otd", epochs=1, verbose=0)
    coded = ordinate.CLOCClassifier(epochs=(1, 1), **quick, training=ordinate.Training(optimizer=torch.optim.SGD))
    coded.fit(table, grades)
    ensemble = VotingClassifier([("one", ordinate.OTDClassifier(epochs=1, class_order=["c", "b", "a"], **quick))])
    questions = {
        "predict": lambda: model.predict(far),
        "transform": lambda: of_fit.transform(far),
        "a file": lambda: model.predict("far.csv"),
        "evaluate": lambda: of_fit.evaluate("labelled.csv"),
        "cross-validation": lambda: cross_val_predict(model, table, grades, cv=KFold(2)),
        "ensemble": lambda: ensemble.fit(table, np.array(["a", "b", "c"])[grades]),
        "code": lambda: coded.save("coded"),
    }
    for name, question in questions.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            question()
        assert {Path(each.filename).name for each in caught} == {Path(__file__).name}, name


def test_a_command_prints_a_warning_as_one_plain_line(tmp_path, capsys):
    model = fit_model(tmp_path)
    table = pd.read_csv(tmp_path / "ranks.csv")
    capsys.readouterr()
    table.assign(number=1e6).to_csv(tmp_path / "far.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["predict", str(model), str(tmp_path / "far.csv"), "--out", str(tmp_path / "out.csv")]) == 0
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert err.startswith("note: rows outside what training had seen: column 'number'")


def test_warnings_come_from_one_function():
    source = Path(ordinate.__file__).parents[1]
    modules = [path for package in ("ordinate", "ordinate_papers") for path in (source / package).rglob("*.py")]
    users = [path.name for path in modules if "warnings.warn" in path.read_text()]
    assert users == ["errors.py"]
