"""Options declared once, as fields of dataclasses, for parsers, checks of numbers and commands to repeat."""

import argparse
import math
import shlex
from collections.abc import Collection
from dataclasses import MISSING, Field, field, fields
from types import NoneType
from typing import Any, get_args, get_origin

from ordinate.errors import OrdinateError

OF_ARGPARSE = ("choices", "metavar", "nargs")  # settings of an option that go there as they are


def option(default: Any, help: str | None = None, **settings: Any) -> Any:  # noqa: A002  # as argparse calls it
    """Declare an option of the command line as a field of a dataclass.

    Args:
        default: its value where it is not given; a list where it may be given several times; ``...`` for an argument
            that has to be given.
        help: text of ``--help``.
        settings: ``choices``, ``metavar`` and ``nargs`` of argparse (``nargs="?"``: an argument without a flag);
            ``group``, a heading of the help; ``least`` (of a whole number), ``above`` and ``below`` (exclusive), the
            bounds of a number; ``determines=False`` where a trained model does not depend on it; and others that one
            command alone reads.
    """
    metadata = {"help": help, "group": None, **settings}
    if default is ...:
        return field(metadata=metadata)
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def flag(name: str) -> str:
    """Return an option as it is typed.

    Example:
        >>> flag("test_fraction")
        '--test-fraction'
    """
    return f"--{name.replace('_', '-')}"


def default_of(declared: "Field[Any]") -> Any:
    """Return the value of an option that is not given."""
    return declared.default if declared.default_factory is MISSING else declared.default_factory()


def add_options(
    parser: argparse.ArgumentParser,
    options: type,
    only: Collection[str] | None = None,
    required: Collection[str] = (),
    **texts: str,
) -> None:
    """Add the fields of a dataclass to the parser of a command.

    Args:
        parser: of the command.
        options: a dataclass whose fields are declared with :func:`option`.
        only: names of the fields to add; None adds all.
        required: arguments that have to be given to this command.
        texts: help of some fields in this command, in place of their own.
    """
    groups: dict[str | None, Any] = {None: parser}
    for declared in fields(options):
        if only is not None and declared.name not in only:
            continue
        group = declared.metadata.get("group")
        if group not in groups:
            groups[group] = parser.add_argument_group(group)
        settings = {name: declared.metadata[name] for name in OF_ARGPARSE if name in declared.metadata}
        settings["help"] = texts.get(declared.name, declared.metadata["help"])
        kinds = [kind for kind in get_args(declared.type) or (declared.type,) if kind is not NoneType]
        if declared.name in required:
            del settings["nargs"]
        positional = declared.default is MISSING and declared.default_factory is MISSING
        if positional or settings.get("nargs") == "?":
            groups[group].add_argument(declared.name, **settings)
            continue
        if kinds == [bool]:
            is_open = declared.default is None  # so that it can be turned off too
            settings["action"] = argparse.BooleanOptionalAction if is_open else "store_true"
        else:
            settings["default"] = default_of(declared)
            settings.setdefault("type", None if kinds == [str] else kinds[0])
            if get_origin(declared.type) is list:
                settings.setdefault("action", "extend" if "nargs" in settings else "append")
        groups[group].add_argument(flag(declared.name), **settings)


def check_numbers(options: Any) -> None:
    """Raise where a number is outside the bounds that its option is declared with."""
    for declared in fields(options):
        value = getattr(options, declared.name)
        least, above = declared.metadata.get("least"), declared.metadata.get("above")
        if value is None or (least is None and above is None):
            continue
        below = declared.metadata.get("below", math.inf)
        if value < below and (value >= least if above is None else value > above):
            continue
        kind = "finite" if isinstance(value, float) else "whole"
        lower = f"of at least {least:g}" if above is None else f"above {above:g}"
        upper = "" if below == math.inf else f" and below {below:g}"
        raise OrdinateError(flag(declared.name), value, f"a {kind} number {lower}{upper}")


def command_line(words: list[str], options: Any, leave_out: Collection[str] = ()) -> str:
    """Return what to type to get the options again that are not left at their defaults."""
    words = list(words)
    for declared in fields(options):
        value = getattr(options, declared.name)
        if declared.name in leave_out or value is None or value == default_of(declared):
            continue
        if value is False:
            words.append(flag(f"no_{declared.name}"))
            continue
        for each in value if isinstance(value, list) else [value]:
            words += [flag(declared.name), *([] if each is True else [str(each)])]
    return shlex.join(words)
