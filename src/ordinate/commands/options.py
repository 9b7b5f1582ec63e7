"""Options declared once, as fields of dataclasses, for parsers, checks of numbers and commands to type again."""

import argparse
import math
import shlex
from collections.abc import Collection
from dataclasses import MISSING, Field, field, fields
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from ordinate.errors import OrdinateError, are_arguments_typed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ParsedOptions = dict[str, Any]  # Argparse returns the options of a command by name.


def option(default: Any, help: str | None = None, **settings: Any) -> Any:  # noqa: A002  # Argparse uses it.
    """Declare an option of the command line as a field of a dataclass.

    Args:
        default: Default value; a list if the option may be given several times; ``...`` for an argument that has to be
            given.
        help: Text of ``--help``.
        settings: ``choices``, ``metavar`` and ``nargs`` of argparse (``nargs="?"``: an argument without a flag);
            ``group``, a heading of the help; ``least`` (of a whole number), ``above`` and ``below`` (exclusive), the
            bounds of a number; ``takes_labels=True`` for labels or other values of the data, which may begin with a
            minus sign; ``determines=False`` if a trained model does not depend on it; and others that a single
            command reads.
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


def labels_text(text: str) -> str:
    """Return the value of an option that takes labels, as it is; the parser knows such options by this type."""
    return text


def check_seed(seed: int) -> None:
    """Raise for a seed that NumPy and PyTorch do not both take."""
    if not 0 <= seed < 2**32:
        raise OrdinateError("seed", seed, "a whole number from 0 to 4294967295")


def default_of(declared: "Field[Any]") -> object:
    """Return the value of an option that is not given."""
    return declared.default if declared.default_factory is MISSING else declared.default_factory()


def kinds_of(declared: "Field[Any]") -> list[type]:
    """Return the types of an option's values, without that of None."""
    return [kind for kind in get_args(declared.type) or (declared.type,) if kind is not NoneType]


def add_options(
    parser: argparse.ArgumentParser,
    options: "type[DataclassInstance]",
    only: Collection[str] | None = None,
    required: Collection[str] = (),
    *,
    single: Collection[str] = (),
    hide_rare: bool = False,
    **texts: str,
) -> None:
    """Add the fields of a dataclass to the parser of a command.

    Args:
        parser: Parser of the command; with ``argument_default=SUPPRESS`` it returns only the options that are typed.
        options: Dataclass whose fields are declared with :func:`option`.
        only: Names of the fields to add; None adds all.
        required: Arguments that have to be given to this command.
        single: Options that take one value in this command, and several in others.
        hide_rare: Whether the help leaves out options that are declared with ``rare=True``.
        texts: Help of some fields in this command, instead of the declared one.
    """
    groups: dict[str | None, argparse._ActionsContainer] = {None: parser}
    for declared in fields(options):
        if only is not None and declared.name not in only:
            continue
        group = declared.metadata.get("group")
        if group not in groups:
            groups[group] = parser.add_argument_group(group)
        for_argparse = declared.metadata.keys() & {"choices", "metavar", "nargs"}
        settings = {name: declared.metadata[name] for name in for_argparse}
        text = texts.get(declared.name, declared.metadata["help"]) or ""
        settings["help"] = text.replace("%(default)s", str(declared.default))
        if hide_rare and declared.metadata.get("rare"):
            settings["help"] = argparse.SUPPRESS
        kinds = kinds_of(declared)
        if declared.name in (*required, *single):
            del settings["nargs"]
        positional = declared.default is MISSING and declared.default_factory is MISSING
        if positional or settings.get("nargs") == "?":
            groups[group].add_argument(declared.name, **settings)
            continue
        if kinds == [bool]:
            settings["action"] = "store_true"
        else:
            if parser.argument_default is None:
                settings["default"] = default_of(declared)
            settings["type"] = labels_text if declared.metadata.get("takes_labels") else kinds[0]
            if get_origin(declared.type) is list:
                settings["action"] = "extend" if "nargs" in settings else "append"
        groups[group].add_argument(flag(declared.name), **settings)


def check_numbers(options: "DataclassInstance") -> None:
    """Raise where a number is outside the bounds that its option is declared with."""
    for declared in fields(options):
        value = getattr(options, declared.name)
        least, above = declared.metadata.get("least"), declared.metadata.get("above")
        if value is None or (least is None and above is None):
            continue
        if above is None:
            is_valid, expected = value >= least, f"of at least {least:g}"
        else:
            is_valid, expected = value > above, f"above {above:g}"
        below = declared.metadata.get("below", math.inf)
        if is_valid and value < below:
            continue
        if below < math.inf:
            expected += f" and below {below:g}"
        kind = "finite" if isinstance(value, float) else "whole"
        raise OrdinateError(flag(declared.name), value, f"a {kind} number {expected}")


def command_line(words: list[str], options: "DataclassInstance", leave_out: Collection[str] = ()) -> str:
    """Return the command to type for the options that are not left at their defaults."""
    words = list(words)
    for declared in fields(options):
        value = getattr(options, declared.name)
        if declared.name in leave_out or value is None or value == default_of(declared):
            continue
        name = flag(declared.name)
        if value is True:
            words.append(name)
        elif not isinstance(value, list):
            words += [name, str(value)]
        elif "nargs" in declared.metadata:
            words += [name, *map(str, value)]
        else:
            words += [word for each in value for word in (name, str(each))]
    return shlex.join(words)


def in_options(message: str) -> str:
    """Return a message of the library, with the options of a command instead of settings of estimators.

    Example:
        >>> from ordinate.errors import arguments_as_typed
        >>> with arguments_as_typed():
        ...     in_options("max_pixels=N allows N")
        '--set data.max_pixels=N allows N'
    """
    if not are_arguments_typed():
        return message
    for in_python, typed in (
        ("data=TextOptions()", "--text"),
        ("max_pixels=N", "--set data.max_pixels=N"),
        ("word_vectors=FILE", "--set data.word_vectors=FILE"),
        ("Training(calibration=True)", "--set training.calibration=true"),
    ):
        message = message.replace(in_python, typed)
    return message
