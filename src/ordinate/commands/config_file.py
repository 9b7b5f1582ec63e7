"""Options of a command in a TOML file, under their names in Python."""

import difflib
import json
import tomllib
from dataclasses import Field, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from ordinate.commands.options import default_of
from ordinate.errors import OrdinateError


def read_config(path: str, options: type) -> dict[str, Any]:
    """Return the options that a file holds.

    Args:
        path: of the file.
        options: the dataclass that declares them.

    Raises:
        OrdinateError: no such file, no TOML, or an option that there is not, or of another type.
    """
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OrdinateError("config", problem=f"{path}: {getattr(error, 'strerror', None) or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise OrdinateError("config", problem=f"{path} is no TOML: {error}") from error
    declared = {each.name: each for each in fields(options) if each.name != "config"}
    for name, value in given.items():
        if name not in declared:
            near = difflib.get_close_matches(name.replace("-", "_"), declared, n=1)
            hint = f"did you mean {near[0]}?" if near else None
            raise OrdinateError("config", problem=f"{path}: there is no option {name!r}", hint=hint)
        given[name] = _checked(declared[name], value, path)
    return given


def _checked(declared: "Field[Any]", value: Any, path: str) -> Any:
    """Return a value that is of the type, and among the choices, that its option is declared with."""
    kinds = [kind for kind in get_args(declared.type) or (declared.type,) if kind is not NoneType]
    several = get_origin(declared.type) is list
    if kinds == [str] and type(value) is int:  # such as the embedding_dim, which may be none
        value = str(value)
    for each in value if several and isinstance(value, list) else [value]:
        fits = type(each) in (*kinds, int) if float in kinds else type(each) in kinds
        if not fits or (several and not isinstance(value, list)):
            name = " or ".join(kind.__name__ for kind in kinds)
            raise OrdinateError("config", f"{declared.name} = {value!r} in {path}", f"{'a list of ' * several}{name}")
        choices = declared.metadata.get("choices", (each,))
        if each not in choices:
            raise OrdinateError("config", f"{declared.name} = {each!r} in {path}", f"one of {', '.join(choices)}")
    return float(value) if kinds == [float] else value


def write_config(path: Path, options: Any, leave_out: tuple[str, ...]) -> None:
    """Write the options that are not left at their defaults."""
    lines = [
        f"{declared.name} = {json.dumps(value, ensure_ascii=False)}\n"
        for declared in fields(options)
        if declared.name not in leave_out and (value := getattr(options, declared.name)) != default_of(declared)
    ]
    path.write_text("".join(lines), encoding="utf-8", errors="backslashreplace")  # of names that are no text
