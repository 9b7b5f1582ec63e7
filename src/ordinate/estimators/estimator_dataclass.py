"""Parameters of an estimator, declared as the fields of a dataclass, and its docstring with those of its bases."""

import inspect
import re
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

Estimator = TypeVar("Estimator", bound=type[Any])


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator_dataclass(cls: Estimator) -> Estimator:
    """Turn the annotated attributes of an estimator into keyword-only parameters of its constructor.

    A subclass declares its own parameters, and again only those whose default differs; one that it lacks it declares
    with ``field(init=False)``. Its docstring is completed by what its bases say of theirs.
    """
    dataclass(kw_only=True, eq=False, repr=False)(cls)
    # The text of a Google-style docstring, then the heading and the body of each section in turn.
    text, *rest = re.split(r"(?m)^(Args|Attributes|Raises|Example):\n", inspect.cleandoc(cls.__doc__ or ""))
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    inherited = ("Args", "Attributes")
    cls._documented = {heading: _entries(sections.pop(heading, "")) for heading in inherited}
    completed = {heading: "\n".join(_all_entries(cls, heading).values()) for heading in inherited}
    parts = [f"{heading}:\n{body.rstrip()}" for heading, body in (completed | sections).items() if body]
    cls.__doc__ = "\n\n".join([text.rstrip(), *parts]) + "\n"
    return cls


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section by what they describe."""
    entries = re.split(r"(?m)^    (?=\w[\w, ]*: )", section)[1:]
    return {entry.partition(":")[0]: f"    {entry.rstrip()}" for entry in entries}


def _all_entries(cls: type[Any], heading: str) -> dict[str, str]:
    """Return a class's entries and those that its bases add, without parameters that it lacks."""
    lacking = {parameter.name for parameter in fields(cls) if not parameter.init}
    found: dict[str, str] = {}
    for ancestor in cls.__mro__:
        for name, entry in vars(ancestor).get("_documented", {}).get(heading, {}).items():
            if heading != "Args" or name not in lacking:
                found.setdefault(name, entry)
    if heading == "Args":
        places = {name: place for place, name in enumerate(inspect.signature(cls).parameters)}
        return dict(sorted(found.items(), key=lambda item: places.get(item[0].partition(",")[0], 0)))
    return found
