"""A command ends with one line and an exit code, whatever happens; files that cannot be read are named."""

import errno
import gzip
import io
import os
import signal
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ordinate.cli import main

CSV = "a,grade\n" + "".join(f"{row}.5,{row % 3}\n" for row in range(60))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(CSV)
    return tmp_path


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "model.partial"),
            "model.partial: No space left on device",
            2,
        ),
        (PermissionError(errno.EACCES, "Permission denied", "x"), "x: Permission denied", 2),
        (MemoryError(), "not enough memory", 2),
        (ZeroDivisionError("by\n zero"), "a bug: ZeroDivisionError: by zero (ordinate ", 70),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_no_one_expected_is_one_line(monkeypatch, capsys, error, line, code):
    def fails(**_):
        raise error

    monkeypatch.setattr("ordinate.commands.fit.command.fit", fails)
    assert main(["fit", "data.csv", "--target", "grade"]) == code
    err = capsys.readouterr().err
    assert err.startswith(f"ordinate: {line}")
    assert err.count("\n") == 1
    monkeypatch.setenv("ORDINATE_DEBUG", "1")
    with pytest.raises(type(error)):
        main(["fit", "data.csv", "--target", "grade"])


def test_sigterm_ends_as_ctrl_c_does(monkeypatch, capsys):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("ordinate.commands.fit.command.fit", lambda **_: os.kill(os.getpid(), signal.SIGTERM))
    assert main(["fit", "data.csv", "--target", "grade"]) == 143
    assert capsys.readouterr().err == "ordinate: stopped; the same command continues where it was\n"
    assert signal.getsignal(signal.SIGTERM) == before


def test_workers_that_sigterm_ends_as_well_are_no_bug(monkeypatch, capsys):
    def worker_is_missed(**_):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            raise RuntimeError("DataLoader worker is killed by signal: Terminated") from None

    monkeypatch.setattr("ordinate.commands.fit.command.fit", worker_is_missed)
    assert main(["fit", "data.csv", "--target", "grade"]) == 143
    assert capsys.readouterr().err == "ordinate: stopped; the same command continues where it was\n"


def zipped(name, **options):
    with zipfile.ZipFile("data.zip", "w", **options) as archive:
        archive.writestr(name, bytes(1000))


def patched(path, old, new):
    """Change bytes of a file that must be there."""
    content = Path(path).read_bytes()
    assert old in content
    Path(path).write_bytes(content.replace(old, new))


def encrypted():
    zipped("labels.csv")
    patched("data.zip", b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01")
    patched("data.zip", b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01")


def unknown_compression():
    zipped("labels.csv")
    patched("data.zip", b"PK\x03\x04\x14\x00\x00\x00\x00\x00", b"PK\x03\x04\x14\x00\x00\x00\x63\x00")
    patched("data.zip", b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x63\x00")


def corrupt_member():
    zipped("labels.csv", compression=zipfile.ZIP_DEFLATED)
    content = bytearray(Path("data.zip").read_bytes())
    content[40:46] = b"\xff" * 6
    Path("data.zip").write_bytes(content)


def corrupt_gz():
    content = bytearray(gzip.compress(CSV.encode()))
    content[20:30] = b"\xff" * 10
    Path("data.csv.gz").write_bytes(content)


def huge_npz():
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2)})
    with zipfile.ZipFile("data.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue())


def complex_labels():
    np.savez("data.npz", X=np.zeros((8, 2)), grade=np.arange(8) * 1j)


def structured_labels():
    np.savez("data.npz", X=np.zeros((8, 2)), grade=np.zeros(8, dtype=[("a", "f4")]))


def npz_without_arrays():
    zipped("X.npy")
    Path("data.zip").rename("data.npz")


def pipe():
    os.mkfifo("data.csv.gz")


HOSTILE = {
    "data.zip": [encrypted, unknown_compression, corrupt_member],
    "data.csv.gz": [corrupt_gz, pipe],
    "data.npz": [huge_npz, complex_labels, structured_labels, npz_without_arrays],
}


@pytest.mark.parametrize("command", [["fit"], ["suspects"]])
@pytest.mark.parametrize(("name", "make"), [(name, make) for name, makes in HOSTILE.items() for make in makes])
def test_a_file_that_cannot_be_read_is_named(capsys, name, make, command):
    make()
    assert main([*command, name, "--target", "grade"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"ordinate: {name}")
    assert err.count("\n") == 1
    assert not list(Path().glob("*.partial"))


@pytest.mark.parametrize("out", ["x" * 300, "x" * 250, "a\0b"], ids=["300", "250", "null"])
def test_a_name_that_no_folder_can_have_is_an_error(capsys, out):
    assert main(["fit", "data.csv", "--target", "grade", "--out", out]) == 2
    assert capsys.readouterr().err.startswith("ordinate: --out: ")


@pytest.mark.parametrize("data", ["x" * 300 + ".csv", "a\0b.csv"], ids=["long", "null"])
def test_nor_data(capsys, data):
    assert main(["fit", data, "--target", "grade"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
