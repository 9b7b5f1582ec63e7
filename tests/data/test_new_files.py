"""What is written appears whole or not at all, and names itself where the disk is full."""

import errno
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ordinate.cli import main
from ordinate.commands.table_file import write_table
from ordinate.data.new_files import new_file, new_folder
from ordinate.errors import OrdinateError
from ordinate.model.export import export_model
from ordinate.report.output import write_page
from tests.command_line import draw
from tests.estimators.examples import cloc, draw_table, ranks_of

FULL = OSError(errno.ENOSPC, "No space left on device")
TABLE = pd.DataFrame({"a": np.arange(9)})


@pytest.fixture(scope="module")
def model():
    X, target = draw_table()
    return cloc(random_state=0).fit(X, ranks_of(target)), X


def full(*_, **__):
    raise FULL


WRITERS = {
    "csv": ("p.csv", "pandas.DataFrame.to_csv", lambda path, _: write_table([TABLE], str(path))),
    "parquet": ("p.parquet", "pyarrow.parquet.ParquetWriter", lambda path, _: write_table([TABLE], str(path))),
    "page": ("r.html", "pathlib.Path.write_text", lambda path, _: write_page("<html>", path)),
    "model": ("m", "pathlib.Path.write_bytes", lambda path, model: model[0].save(path)),
    "graph": ("g.pt2", "pathlib.Path.write_text", lambda path, model: export_model(model[0].fitted, path)),
}


@pytest.mark.parametrize(("name", "writer", "run"), WRITERS.values(), ids=WRITERS)
def test_on_a_full_disk_nothing_is_left_and_the_next_one_is_whole(tmp_path, monkeypatch, model, name, writer, run):
    with monkeypatch.context() as patch:
        patch.setattr(writer, full)
        with pytest.raises(OrdinateError, match=rf"{name} cannot be written: No space left on device$"):
            run(tmp_path / name, model)
    assert not list(tmp_path.iterdir())
    run(tmp_path / name, model)
    assert (tmp_path / name).exists()
    assert not list(tmp_path.glob(".*"))


def test_a_full_disk_in_the_middle_of_a_training_is_one_line_and_the_state_before_it_stays(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    draw().to_csv("data.csv", index=False)
    command = ["fit", "data.csv", "--target", "grade", "--drop", "word,target", "--method", "cloc", "--epochs", "4"]
    saved = torch.save
    count = iter(range(100))

    def until_full(*arguments, **options):
        if next(count) == 3:
            raise FULL
        return saved(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr("torch.save", until_full)
        assert main([*command, "--out", "model", "--quiet"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "No space left on device" in err
    assert not Path("model").exists()
    assert main([*command, "--out", "model", "--quiet"]) == 0
    assert "continuing the run that was stopped" in capsys.readouterr().out
    assert not list(Path().glob("*.partial"))


@pytest.mark.parametrize("new", [new_file, new_folder])
def test_what_a_killed_process_left_is_written_over(tmp_path, new):
    left = tmp_path / ".a.partial"
    left.write_text("half") if new is new_file else (left / "b").mkdir(parents=True)
    with new(tmp_path / "a", "out") as pending:
        assert pending == left
        if new is new_file:
            pending.write_text("whole")
        else:
            assert not list(pending.iterdir())
    assert not left.exists()
