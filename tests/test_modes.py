"""What is written may be read by whom the umask of the process allows."""

import os
import stat

import pandas as pd
import pytest

from ordinate.cli import main
from ordinate.commands.table_file import write_table
from ordinate.model.export import export_model
from ordinate.model.held_out import HeldOut
from ordinate.report.page import write_report
from ordinate_papers.protocols.parts import KeptParts
from ordinate_papers.tables.results import Result, ResultsFile
from ordinate_papers.tables.run import Run
from tests.estimators.examples import draw_table, otd, ranks_of

X, TARGET = draw_table()
Y = ranks_of(TARGET)


def fit(model, path):
    table = path.with_name("table.csv")
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(grade=Y).to_csv(table, index=False)
    arguments = ["fit", table, "--target", "grade", "--method", "cloc", "--epochs", "2", "--no-report", "--out", path]
    assert main([str(argument) for argument in arguments]) == 0


def keep_held_out(model, path):
    path.mkdir()
    HeldOut.measure(model.fitted, X, Y).write(path)


WRITERS = {
    "saved model": lambda model, path: model.save(path),
    "held-out samples": keep_held_out,
    "graph": lambda model, path: export_model(model.fitted, path.with_suffix(".pt2")),
    "report": lambda model, path: write_report(model.fitted, X, Y, path.with_suffix(".html"), projections=("pca",)),
    "csv": lambda model, path: write_table([pd.DataFrame({"row": [1]})], str(path)),
    "parts": lambda model, path: KeptParts(path)("size 8", lambda: {"mae": 0.5}),
    "results": lambda model, path: ResultsFile(path).append(Run("a", "b"), Result()),
    "fit": fit,
}


@pytest.fixture(scope="module")
def model():
    return otd(epochs=1).fit(X, Y)


@pytest.fixture
def umask():
    """One that gives modes which neither a temporary file nor a file of the usual umask has."""
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("name", WRITERS)
def test_every_output_has_the_mode_that_the_umask_gives(name, model, umask, tmp_path):
    WRITERS[name](model, tmp_path / "output")
    written = list(tmp_path.rglob("*"))
    assert written
    for path in written:
        assert stat.S_IMODE(path.stat().st_mode) == (0o777 if path.is_dir() else 0o666) & ~umask, path
