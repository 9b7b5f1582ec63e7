"""Options of a command, and settings of an estimator, in a TOML file."""

import json
import tomllib
from collections.abc import Collection
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, get_origin

from ordinate.commands.options import default_of, kinds_of
from ordinate.errors import OrdinateError


def read_config(path: str, options: type) -> dict[str, Any]:
    """Return the options that a file holds; tables, and other names than those of options, are settings.

    Args:
        path: Path of the file.
        options: Dataclass that declares the options, one of which, ``set``, takes settings as NAME=VALUE.

    Raises:
        OrdinateError: No such file, no TOML, or an option of another type.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OrdinateError("config", problem=f"{path}: {getattr(error, 'strerror', None) or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise OrdinateError("config", problem=f"{path} is no TOML: {error}") from error
    declared = {each.name: each for each in fields(options) if each.name != "config"}
    if "config" in content:
        raise OrdinateError("config", problem=f"{path}: there is no option 'config' in a file")
    given: dict[str, Any] = {"set": []}
    for name, value in content.items():
        if isinstance(value, dict):
            given["set"] += [f"{name}.{each}={of_it!r}" for each, of_it in value.items()]
        elif name in declared:
            checked = _checked(declared[name], value, path)
            given[name] = [*given["set"], *checked] if name == "set" else checked
        else:
            given["set"].append(f"{name}={value!r}")
    return given


def _checked(declared: "Field[Any]", value: Any, path: str) -> Any:
    """Return a value that is of the type, and among the choices, with which its option is declared."""
    kinds = kinds_of(declared)
    if declared.metadata.get("may_be_list") and isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    several = get_origin(declared.type) is list
    may_be_several = any(get_origin(kind) is list for kind in kinds)
    allowed = (*kinds, int) if float in kinds else tuple(kinds)
    for each in value if (several or may_be_several) and isinstance(value, list) else [value]:
        if type(each) not in allowed or (several and not isinstance(value, list)):
            name = " or ".join(kind.__name__ for kind in kinds)
            expected = f"a list of {name}" if several else name
            raise OrdinateError("config", f"{declared.name} = {value!r} in {path}", expected)
        choices = declared.metadata.get("choices", (each,))
        if each not in choices:
            raise OrdinateError("config", f"{declared.name} = {each!r} in {path}", f"one of {', '.join(choices)}")
    return float(value) if kinds == [float] else value


def write_config(path: Path, options: Any, leave_out: Collection[str]) -> None:
    """Write the options that are not left at their defaults."""
    lines = []
    for declared in fields(options):
        value = getattr(options, declared.name)
        if declared.name not in leave_out and value != default_of(declared):
            lines.append(f"{declared.name} = {json.dumps(value, ensure_ascii=False)}\n")
    # A path that is no text is written with escapes.
    path.write_text("".join(lines), encoding="utf-8", errors="backslashreplace")
