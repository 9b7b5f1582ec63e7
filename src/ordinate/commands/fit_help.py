"""The help of ``ordinate fit``: the options that most people need, and all of them with every setting of ``--set``."""

import argparse
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

from ordinate.commands.fit_options import FitOptions
from ordinate.commands.options import add_options
from ordinate.commands.settings import FLAGS, full_name, groups
from ordinate.extensions import load_object

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def add_fit_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of fit to its parser, of which ``--help`` shows those that most people need."""
    parser.argument_default = argparse.SUPPRESS  # A file of --config gives options that are not typed.
    add_options(parser, FitOptions, hide_rare=True)
    parser.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all options and settings")


class _HelpAll(argparse.Action):
    """Print the help of all options and settings."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        whole = argparse.ArgumentParser(prog=parser.prog, description=parser.description)
        add_options(whole, FitOptions)
        whole.print_help()
        print("\nsettings of --set NAME=VALUE, and of a TOML file")
        for title, group, declared in _declarations():
            print(f"\n{title}:")
            for name, text in setting_texts(declared, group):
                wrapped = textwrap.wrap(text, width=96) or [""]
                print(f"  {name}", *(f"      {line}" for line in wrapped), sep="\n")
        parser.exit()


def _declarations() -> Iterator[tuple[str, str, "type[DataclassInstance]"]]:
    """Yield titles, groups and dataclasses of settings."""
    from ordinate.data.registry import modalities  # PyTorch takes seconds to import.
    from ordinate.estimators.registry import CORE, models, option_groups

    shown: set[type] = set()
    for name, model in models().items():
        kind = model.estimator(next(iter(model.estimators)))
        if name in CORE and kind not in shown:
            yield name, "", kind
            shown.add(kind)
    for group, place in option_groups().items():
        yield group, group, load_object(place)
    for modality in modalities():
        if modality.options_class is not None:
            yield f"data, for {modality.name}", "data", modality.options_class


def setting_texts(declared: "type[DataclassInstance]", group: str) -> list[tuple[str, str]]:
    """Return the names of the settings that a dataclass declares, with their default, and their documentation.

    Example:
        >>> from ordinate.estimators.head_options import Head
        >>> name, text = setting_texts(Head, "head")[2]
        >>> name, text[:29]
        ('head.n_neighbors=5', 'Number of training embeddings')
    """
    documented = _documentation(declared)
    found = []
    for parameter in fields(declared):
        name = full_name(group, parameter.name)
        text = documented.get(parameter.name, "")
        if not parameter.init or name in FLAGS or name in groups():
            continue
        if parameter.default not in (None, MISSING):
            name += f"={parameter.default}"
        found.append((name, text))
    return found


def _documentation(declared: type) -> dict[str, str]:
    """Return the entries of a docstring's arguments by name, without marks of reStructuredText."""
    after = inspect.getdoc(declared) or ""
    section = re.split(r"\n(?=\w+:\n)", after.partition("Args:\n")[2])[0]
    found = {}
    for names, text in re.findall(r"^ {4}(\w[\w, ]*): (.*(?:\n {8}.*)*)", section, re.MULTILINE):
        plain = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"\1", " ".join(text.split())).replace("``", "")
        for name in names.split(", "):
            found[name] = plain
    return found
