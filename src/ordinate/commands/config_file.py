"""Options of a command, and settings of an estimator, in a TOML file."""

import json
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

from ordinate.commands.options import ParsedOptions, default_of, kinds_of
from ordinate.commands.settings import fits, groups
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def with_config(typed: ParsedOptions, options: "type[DataclassInstance]") -> ParsedOptions:
    """Return the options that were typed, and those in the file of ``--config`` that were not; settings of both."""
    of_file = read_config(typed["config"], options)
    # The second value of a setting overrides the first.
    return {**of_file, **typed, "set": [*of_file["set"], *typed.get("set", ())]}


def read_config(path: str, options: "type[DataclassInstance]") -> ParsedOptions:
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
    if "config" in content:
        raise OrdinateError("config", problem=f"{path}: there is no option 'config' in a file")
    return options_in(content, options, path)


def options_in(
    content: Mapping[str, Any], options: "type[DataclassInstance]", path: str | None = None
) -> ParsedOptions:
    """Return options by name as a parser returns them; other names, and mappings, are settings of an estimator.

    Args:
        content: Options, settings, and settings of groups in a mapping of the group's name.
        options: Dataclass that declares the options, one of which, ``set``, takes settings as NAME=VALUE.
        path: File that they are from, for messages; None for arguments of a function.

    Raises:
        OrdinateError: an option of another type.
    """
    declared = {each.name: each for each in fields(options) if each.name != "config"}
    given: ParsedOptions = {}
    settings: list[str] = []
    for name, value in content.items():
        if isinstance(value, dict) and (name in groups() or name not in declared):
            settings += [f"{name}.{each}={of_it!r}" for each, of_it in value.items()]
        elif path is None and name in groups() and name not in declared and not isinstance(value, str):
            raise OrdinateError(name, repr(value), "a dict of its settings, as in {'NAME': VALUE}")
        elif name == "set":
            settings += _checked(declared[name], value, path)
        elif name in declared:
            given[name] = _checked(declared[name], value, path)
        else:
            settings.append(f"{name}={value!r}")
    return {**given, "set": settings}


def _checked(declared: "Field[Any]", value: Any, path: str | None) -> Any:
    """Return a value that is of the type, and among the choices, with which its option is declared."""
    kinds = kinds_of(declared)
    if hasattr(value, "tolist"):  # It is an array, a Series, or a number of NumPy.
        value = value.tolist()
    if isinstance(value, tuple):
        value = list(value)
    if declared.metadata.get("may_be_list") and isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if declared.metadata.get("metavar") == "COLUMNS" and isinstance(value, list):
        return _joined(declared.name, value)
    choices = declared.metadata.get("choices", (value,))
    if fits(value, declared.type) and value in choices:
        return float(value) if kinds == [float] else value
    expected = " or ".join(kind.__name__ for kind in kinds)
    if declared.metadata.get("may_be_list") or declared.metadata.get("metavar") == "COLUMNS":
        expected += " or a list"
    if get_origin(declared.type) is list:
        expected = f"a list of {expected}"
    if fits(value, declared.type):
        expected = f"one of {', '.join(choices)}"
    if path is None:
        raise OrdinateError(declared.name, repr(value), expected)
    raise OrdinateError("config", f"{declared.name} = {value!r} in {path}", expected)


def _joined(option: str, names: list[object]) -> str:
    """Return names of columns as an option has them, separated by commas."""
    for name in names:
        if not isinstance(name, str) or "," in name:
            raise OrdinateError(option, repr(name), "names of columns, which are text without commas")
    return ",".join(map(str, names))


def write_config(path: Path, options: "DataclassInstance", leave_out: Collection[str]) -> None:
    """Write the options that are not left at their defaults."""
    lines = []
    for declared in fields(options):
        value = getattr(options, declared.name)
        if declared.name not in leave_out and value != default_of(declared):
            lines.append(f"{declared.name} = {json.dumps(value, ensure_ascii=False)}\n")
    # A path that is no text is written with escapes.
    path.write_text("".join(lines), encoding="utf-8", errors="backslashreplace")
