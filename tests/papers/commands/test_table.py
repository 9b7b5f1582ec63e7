"""``ordinate table``: what it lists, runs, prints and writes."""

import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.commands import table as command
from ordinate_papers.tables.results import Result, ResultsFile

OPTIONS = {
    "dataset": [], "seeds": 2, "quick": True, "jobs": None, "tune": None, "dry_run": False, "retry_failed": False,
}  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs the command in an empty folder without data and returns what it prints."""
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path))

    def run(name, **options):
        places = {"results": str(tmp_path / "results.jsonl"), "out": str(tmp_path / "out")}
        command.table(name=name, **{**OPTIONS, **places, **options})
        return capsys.readouterr().out

    return run


@pytest.fixture
def airfoil(tmp_path, monkeypatch):
    """Airfoil is here, and every run gives its seed as its figures."""
    (tmp_path / "uci_airfoil").mkdir()
    (tmp_path / "uci_airfoil" / "airfoil_self_noise.csv.gz").write_bytes(b"no one reads it")
    executed = []

    def complete(runs, execute, results, *, jobs, retry_failed):
        finished = {"done"} if retry_failed else {"done", "failed"}
        for run in [run for run, result in results.read(runs).items() if result.state not in finished]:
            executed.append(run)
            if run.model == "supcon":
                results.append(run, Result.failed("ValueError: no pair"))
            else:
                metrics = {"mae": run.seed + 4.0, "mse": 40.0, "geometric_mean_error": 1.0}
                results.append(run, Result.done(metrics, 0.1))
        return results.read(runs)

    monkeypatch.setattr(command, "complete", complete)
    return executed


def test_all_tables_are_listed_with_what_they_need(run, airfoil):
    lines = {line.split()[0]: line for line in run(None).splitlines() if line.strip()}
    assert lines["supremix-5"].split()[1:4] == ["9/9", "6", "0"]
    assert lines["otd-2"].split()[1:4] == ["0/48", "0", "0"]
    assert "car, nursery, hayes_roth, balance_scale" in lines["otd-2"]


def test_a_table_is_completed_printed_and_written(run, airfoil, tmp_path):
    text = run("supremix-5")
    row = next(line for line in text.splitlines() if line.startswith("Vanilla"))
    assert row.split()[:6] == ["Vanilla", "6.56", "4.50", "±", "0.50", "(2)"]
    assert "2 of 2 runs failed: ValueError: no pair" in text
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "supremix-5.csv", "supremix-5.md", "supremix-5.txt",
    ]  # fmt: skip
    assert (tmp_path / "out" / "supremix-5.txt").read_text() in text


def test_finished_runs_are_not_run_again_and_failed_ones_only_when_asked(run, airfoil):
    first = run("supremix-5")
    assert len(airfoil) == 6
    assert run("supremix-5") == first
    assert len(airfoil) == 6
    run("supremix-5", retry_failed=True)
    assert len(airfoil) == 8


def test_a_dry_run_runs_nothing_and_writes_nothing(run, airfoil, tmp_path):
    text = run("supremix-5", dry_run=True)
    assert "6 runs can run here; 0 of them have, 6 are to be done" in text
    assert airfoil == []
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "results.jsonl").exists()


def test_other_data_takes_the_place_of_the_papers(run, airfoil, tmp_path):
    text = run("supcr-1", dataset=["airfoil"])
    assert "airfoil MAE" in text
    assert len(airfoil) == 28
    assert {result.state for result in ResultsFile(tmp_path / "results.jsonl").read(airfoil).values()} == {"done"}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("otd-3", {}, "table: got 'otd-3'; did you mean 'otd-"),
        (None, {"dataset": ["airfoil"]}, "--dataset: expected the name of a table before it"),
        ("supcr-1", {"dataset": ["airfol"]}, "did you mean 'airfoil'"),
        ("supcr-5", {"dataset": ["airfoil"]}, "dataset: got supcr-5, expected a table that compares models"),
        ("otd-2", {"seeds": 0}, "--seeds: got 0"),
        ("otd-2", {"jobs": 0}, "--jobs: got 0"),
        ("otd-2", {"tune": 0}, "--tune: got 0"),
    ],
)
def test_what_cannot_be_done_says_why(run, name, options, message):
    with pytest.raises(OrdinateError) as error:
        run(name, **options)
    assert message in str(error.value)
