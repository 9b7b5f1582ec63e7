"""Where results are written to: checked before any work; and pages, written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ordinate.data.new_files import held, new_file
from ordinate.errors import OrdinateError

PAGE = (".html",)  # The ending of the name of a page.


def check_output(out: str | Path) -> None:
    """Raise if a file cannot be written: its path is a folder or a device, or its folder does not exist."""
    path = Path(out)
    with _possible_name(path):
        if path.name == "-":
            raise OrdinateError("out", "'-'", "the name of a file", "standard output takes tables alone")
        if path.is_dir():
            raise OrdinateError("out", problem=f"{path} is a folder", expected="a file")
        if not path.parent.is_dir():
            raise OrdinateError("out", problem=f"{path} cannot be written: No such folder as {path.parent}")
        if path.exists() and not path.is_file():
            raise OrdinateError("out", problem=f"{path} is no regular file", expected="a new file")
        path.with_name(f".{path.name}.partial").exists()


def check_ending(out: str | Path, endings: tuple[str, ...]) -> None:
    """Raise if the name of a file to write ends as that of another format."""
    if not str(out).lower().endswith(endings):
        raise OrdinateError("out", repr(str(out)), f"a name that ends in {' or '.join(endings)}")


def check_free(out: Path) -> None:
    """Raise where a folder to write a result to holds something already."""
    with _possible_name(out):
        used = out.exists() and (not out.is_dir() or any(out.iterdir()))
        Path(f"{out.resolve()}.partial").exists()
    if out.name == "-":
        raise OrdinateError("out", "'-'", "the name of a folder", "standard output takes tables alone")
    if used:
        raise held("out", out)


@contextmanager
def _possible_name(path: Path) -> Iterator[None]:
    """Raise where the system has no room for such a name."""
    if "\0" in str(path):
        raise OrdinateError("out", repr(str(path)), "a name without a null character")
    try:
        yield
    except OSError as error:
        raise OrdinateError("out", problem=f"{path} cannot be written: {error.strerror or error}") from error


def write_page(page: str, out: str | Path) -> Path:
    """Write a page and return its path."""
    check_output(out)
    path = Path(out)
    with new_file(path) as pending:
        pending.write_text(page, encoding="utf-8")
    return path
