"""``ordinate leaderboard``: what it lists, runs, prints, writes and refuses."""

import subprocess
import sys

import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.commands.leaderboard import leaderboard, plan
from ordinate_papers.commands.options import LeaderboardOptions
from ordinate_papers.leaderboards.boards import board
from ordinate_papers.leaderboards.standings import read_records


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs the command in this process, its runs too, and returns what it prints."""

    def complete(runs, execute, database, folder, jobs):
        from ordinate_papers.leaderboards.execute import execute as of_this_process

        database.add(runs)
        while (claimed := database.claim("test", runs)) is not None:
            if claimed.model == "random forest":
                database.fail(claimed, "MemoryError: of a test")
            else:
                database.finish(claimed, of_this_process(claimed, folder), 0.1)
        return database.results(runs)

    monkeypatch.setattr("ordinate_papers.tables.workers.complete", complete)

    def run(name, **options):
        leaderboard(name=name, results=str(tmp_path / "runs.db"), out=str(tmp_path / "out"), **options)
        return capsys.readouterr().out

    return run


CHEAP = {"sets": ["diabetes"], "models": ["ridge", "gradient boosting"], "splits": 2}


def test_the_leaderboards_are_listed(run):
    assert [line.split()[0] for line in run(None).splitlines()[2:5]] == [
        "tabular-ordinal", "tabular-regression", "series",
    ]  # fmt: skip


def test_one_is_completed_printed_and_written(run, tmp_path):
    text = run("tabular-regression", **CHEAP)
    lines = [line.split() for line in text.splitlines()]
    assert ["ridge", "1.00", "1.00"] in lines
    assert "4 of 4 runs are done, 0 failed" in text
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == [f"tabular-regression.{suffix}" for suffix in ("csv", "md", "png", "txt")]
    records = read_records((tmp_path / "out" / "tabular-regression.csv").read_text())
    assert {(one.model, one.split) for one in records} == {(m, s) for m in CHEAP["models"] for s in (0, 1)}
    assert (tmp_path / "out" / "tabular-regression.txt").read_text() in text


def test_what_is_done_is_not_run_again_and_failures_are_named(run):
    run("tabular-regression", **CHEAP)
    options = {**CHEAP, "models": ["ridge", "random forest"]}
    text = run("tabular-regression", **options, dry_run=True)
    assert "2 of 4 runs are done, 0 failed" in text
    text = run("tabular-regression", **options)
    assert "failed: random forest on diabetes" in text
    assert "MemoryError: of a test" in text
    assert "2 of 4 runs are done, 2 failed" in text


def test_the_runs_of_a_set_are_as_many_as_its_splits():
    runs, reasons = plan(board("tabular-ordinal"), ["esl"], ["LogisticAT"], None)
    assert [run.seed for run in runs] == list(range(30))
    assert reasons == []
    assert len(plan(board("tabular-ordinal"), ["esl"], ["LogisticAT"], 3)[0]) == 3


def test_nothing_that_can_run_is_an_error(run, monkeypatch):
    monkeypatch.delenv("ORDINATE_DATA", raising=False)
    with pytest.raises(OrdinateError, match="nothing of tabular-regression can run here"):
        run("tabular-regression", sets=["boston"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "tabular"}, "one of tabular-ordinal, tabular-regression, series"),
        ({"name": "series", "sets": ["esl"]}, "--sets: got esl, expected some of floodmodeling1, covid3month"),
        ({"name": "series", "models": ["XGBoost"]}, "--models: got XGBoost"),
        ({"name": "tabular-ordinal", "aeon": "python"}, "--aeon"),
        ({"name": "series", "aeon": "/no/python"}, "--aeon: got /no/python"),
        ({"name": "series", "splits": 0}, "--splits"),
        ({"splits": 3}, "--splits: got no leaderboard to run"),
        ({"name": "series", "dry_run": True, "retry_failed": True}, "--retry-failed"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        LeaderboardOptions(**options).check()


@pytest.mark.thorough
def test_the_command_runs_in_worker_processes(tmp_path):
    command = [sys.executable, "-P", "-m", "ordinate", "leaderboard", "tabular-regression", "--sets", "diabetes"]
    options = ["--models", "ridge", "--splits", "1", "--jobs", "1"]
    ended = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "1 of 1 runs are done, 0 failed" in ended.stdout
    assert (tmp_path / "ordinate-leaderboards" / "tabular-regression.csv").is_file()
