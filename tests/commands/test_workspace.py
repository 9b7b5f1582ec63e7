import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ordinate.commands.workspace import Workspace
from ordinate.errors import OrdinateError

SETTINGS = {"data": "9f2c", "options": ["grade", "auto", 0.2, None, ["1,2=0.8"]]}
OTHER = {"data": "9f2c", "options": ["grade", "cloc", 0.2, None, []]}
WORKING = """
import sys
from pathlib import Path
from ordinate.commands.workspace import Workspace

with Workspace(Path(sys.argv[1]), {"seed": 0}) as workspace:
    workspace.checkpoints.mkdir()
    (workspace.checkpoints / "last.ckpt").touch()
    print("working", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def out(tmp_path):
    return tmp_path / "model"


@pytest.fixture
def other_process(out):
    """Another process that works for the same output and has kept a checkpoint."""
    command = [sys.executable, "-c", WORKING, str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "working\n"
        yield process
        process.kill()


def write_result(workspace, content="weights"):
    result = workspace.partial / "result"
    (result / "pictures").mkdir(parents=True)
    (result / "weights").write_text(content)
    (result / "pictures" / "margins.png").write_text("pixels")
    return result


def keep_checkpoint(workspace):
    folder = workspace.checkpoints / "cloc-final"
    folder.mkdir(parents=True)
    (folder / "last.ckpt").touch()


def stop(out, settings=SETTINGS, error=KeyboardInterrupt(), checkpoint=True):
    """A run that ends in an error."""
    with suppress(type(error)), Workspace(out, settings) as workspace:
        if checkpoint:
            keep_checkpoint(workspace)
        raise error


# the result


@pytest.mark.parametrize("exists", [False, True], ids=["new", "empty"])
def test_the_result_becomes_the_output_whole_and_in_one_step(out, exists):
    if exists:
        out.mkdir()
    with Workspace(out, SETTINGS) as workspace:
        keep_checkpoint(workspace)
        result = write_result(workspace)
        folder = result.stat().st_ino
        assert not out.exists() or not any(out.iterdir())
        workspace.publish(result)
        assert out.stat().st_ino == folder
    files = sorted(str(path.relative_to(out.parent)) for path in out.parent.rglob("*"))
    assert files == ["model", "model/pictures", "model/pictures/margins.png", "model/weights"]


def test_folders_on_the_way_to_the_output_are_made(tmp_path):
    with Workspace(tmp_path / "a" / "b", SETTINGS) as workspace:
        workspace.publish(write_result(workspace))
    assert (tmp_path / "a" / "b" / "weights").exists()


def test_a_run_that_does_not_publish_leaves_no_output(out):
    with Workspace(out, SETTINGS) as workspace:
        write_result(workspace)
    assert not out.exists()


# what is refused


def test_an_output_that_holds_something_is_refused_and_left_alone(out):
    out.mkdir()
    (out / "thesis.tex").write_text("chapter one")
    with pytest.raises(OrdinateError, match=f"out: {out} already holds something, expected a new or empty folder"):
        Workspace(out, SETTINGS).__enter__()
    assert [path.name for path in out.parent.rglob("*")] == ["model", "thesis.tex"]
    assert (out / "thesis.tex").read_text() == "chapter one"


def test_an_output_that_is_a_file_is_refused_and_left_alone(out):
    out.write_text("chapter one")
    with pytest.raises(OrdinateError, match="already holds something"):
        Workspace(out, SETTINGS).__enter__()
    assert out.read_text() == "chapter one"


def test_an_output_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OrdinateError, match=r"--out: .*/file/model cannot be written: Not a directory"):
        Workspace(tmp_path / "file" / "model", SETTINGS).__enter__()


def test_the_present_folder_is_an_output_like_any_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(OrdinateError, match="already holds something"):
        Workspace(Path(), SETTINGS).__enter__()


def test_a_link_to_an_empty_folder_is_no_trap_at_the_end_of_a_run(out):
    (out.parent / "elsewhere").mkdir()
    out.symlink_to("elsewhere")
    with Workspace(out, SETTINGS) as workspace:
        workspace.publish(write_result(workspace))
    assert (out / "weights").exists()


def test_the_state_of_a_run_with_other_settings_is_refused_and_left_alone(out):
    stop(out, SETTINGS)
    with pytest.raises(OrdinateError, match=r"--out: .*model\.partial keeps the state of a run with other data or set"):
        Workspace(out, OTHER).__enter__()
    with Workspace(out, SETTINGS) as workspace:
        assert workspace.resumes


def test_a_refused_run_gives_the_lock_back(out):
    stop(out, SETTINGS)
    refused = Workspace(out, OTHER)
    with pytest.raises(OrdinateError, match="other data or settings"):
        refused.__enter__()
    with Workspace(out, SETTINGS) as workspace:
        assert workspace.resumes


def test_an_output_that_another_process_works_for_is_refused(out, other_process):
    with pytest.raises(OrdinateError, match=f"--out: {out} is in use by another run, expected another folder"):
        Workspace(out, {"seed": 0}).__enter__()
    assert other_process.poll() is None
    assert (out.parent / "model.partial" / "checkpoints" / "last.ckpt").exists()


# stopping and continuing


def test_a_process_that_is_killed_leaves_its_state_and_no_lock(out, other_process):
    other_process.kill()
    other_process.wait()
    assert not out.exists()
    with Workspace(out, {"seed": 0}) as workspace:
        assert workspace.resumes
        workspace.publish(write_result(workspace))
    assert [path.name for path in out.parent.iterdir()] == ["model"]


def test_a_run_that_ended_gives_the_lock_back(out):
    ended = Workspace(out, SETTINGS)
    with ended:
        keep_checkpoint(ended)
    with Workspace(out, SETTINGS) as workspace:
        assert workspace.resumes


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError(), OrdinateError("y")], ids=repr)
def test_a_run_that_kept_a_checkpoint_can_be_continued_whatever_stopped_it(out, error):
    stop(out, error=error)
    with Workspace(out, SETTINGS) as workspace:
        assert workspace.resumes
        assert (workspace.checkpoints / "cloc-final" / "last.ckpt").exists()


def test_a_new_run_resumes_nothing(out):
    with Workspace(out, SETTINGS) as workspace:
        assert not workspace.resumes
        (workspace.checkpoints / "cloc-final").mkdir(parents=True)
        assert not workspace.resumes


def test_an_error_before_any_checkpoint_leaves_nothing_behind(out):
    stop(out, error=OrdinateError("y"), checkpoint=False)
    assert not any(out.parent.iterdir())
    with Workspace(out, OTHER) as workspace:
        assert not workspace.resumes


def test_an_error_before_any_checkpoint_leaves_no_folder_on_the_way(tmp_path):
    stop(tmp_path / "a" / "b", error=OrdinateError("y"), checkpoint=False)
    assert not any(tmp_path.iterdir())


def test_work_that_ended_in_the_middle_is_counted(out):
    stop(out)
    for before in range(3):
        with suppress(KeyboardInterrupt), Workspace(out, SETTINGS) as workspace:
            assert workspace.begin("pictures") == before
            raise KeyboardInterrupt
