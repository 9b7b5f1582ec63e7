"""Settings of estimators and of their groups of options, as ``--set NAME=VALUE`` gives them.

The dataclasses of estimators and groups declare the settings: their annotations say which values fit, and their
docstrings are the help.
"""

import ast
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Union, get_args, get_origin

from ordinate.errors import OrdinateError, are_arguments_typed, argument, did_you_mean
from ordinate.estimators.registry import option_groups
from ordinate.training.options import Training

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Built = TypeVar("Built", bound="DataclassInstance")

FLAGS: Mapping[str, str] = {  # Settings that other options give.
    "encoder": "encoder", "decision": "decision", "class_order": "order", "critical_margins": "margin",
    "random_state": "seed", "verbose": "quiet", "training.checkpoint_dir": "out", "data.stream": "stream",
}  # fmt: skip


def groups() -> list[str]:
    """Return the parameters of estimators that take a group of options."""
    return [*option_groups(), "data"]


@dataclass(frozen=True)
class TypedSettings:
    """Settings by name, those of a group as ``"training.learning_rate"``.

    Args:
        texts: Values as they were typed.
        sources: Options of the command line that gave some of them, by the name of the setting.

    Example:
        >>> settings = TypedSettings.of(["training.learning_rate=3e-4", "temperature=0.5"])
        >>> settings.names("training"), settings.names()
        (['learning_rate'], ['temperature'])
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Sequence[str], flags: Mapping[str, tuple[str, str]] | None = None) -> Self:
        """Return settings typed as NAME=VALUE, of which the last of a name counts.

        Args:
            given: Settings as they were typed.
            flags: Settings that other options give: the option and the value by the name of the setting.
        """
        texts = {}
        for text in given:
            name, sign, value = text.partition("=")
            name = name.strip().replace("-", "_")
            if not sign or not name:
                raise OrdinateError("--set", repr(text), "NAME=VALUE, as in training.learning_rate=3e-4")
            _check_name(name)
            texts[name] = value.strip()
        flags = flags or {}
        for name, (source, value) in flags.items():
            if name in texts:
                raise OrdinateError("--set", f"{name} and {source}, which are the same", "one of the two")
            texts[name] = value
        return cls(texts, {name: source for name, (source, _) in flags.items()})

    @property
    def typed(self) -> dict[str, str]:
        """The values that were typed as NAME=VALUE, by the name of the setting."""
        return {name: text for name, text in self.texts.items() if name not in self.sources}

    def names(self, group: str = "") -> list[str]:
        """Return the names of the settings of a group, without the group; of an estimator's own for an empty name."""
        if not group:
            return [name for name in self.texts if "." not in name]
        prefix = f"{group}."
        return [name.removeprefix(prefix) for name in self.texts if name.startswith(prefix)]

    def values(self, declared: "type[DataclassInstance]", group: str = "") -> dict[str, Any]:
        """Return the values of the settings of a group, as the dataclass that declares them says.

        Raises:
            OrdinateError: There is no such setting, or a value is of another type.
        """
        return {name: self._value([declared], name, group) for name in self.names(group)}

    def _value(self, declared: Sequence["type[DataclassInstance]"], name: str, group: str) -> object:
        """Return a value as the first of the dataclasses says that allows it."""
        annotations = [annotation_of(each, name) for each in declared if name in parameters(each)]
        if not annotations:
            raise self._unknown(name, group, declared)
        full = full_name(group, name)
        for annotation in annotations:
            try:
                return converted(self.texts[full], annotation)
            except ValueError:
                continue
        raise OrdinateError(self.source(full), repr(self.texts[full]), description(*annotations))

    def build(self, declared: type[Built], group: str, /, **others: object) -> Built:
        """Return a group of options with the settings, and with other values for those that were not given."""
        try:
            return declared(**{**others, **self.values(declared, group)})
        except OrdinateError as error:
            if error.argument not in self.names(group):
                raise
            raise error.of(self.source(f"{group}.{error.argument}")) from None

    def check(self, declared: Mapping[str, Sequence["type[DataclassInstance]"]]) -> None:
        """Raise an error for a setting of a group that none of its dataclasses declares, or whose value none allows."""
        for group, classes in declared.items():
            for name in self.names(group):
                self._value(classes, name, group)

    def source(self, name: str) -> str:
        """Return the option of the command line that gave a setting."""
        return self.sources.get(name, f"--set {name}")

    def _unknown(self, name: str, group: str, declared: Sequence["type[DataclassInstance]"]) -> OrdinateError:
        full = dict.fromkeys(full_name(group, each) for kind in declared for each in parameters(kind))
        if not group:
            full |= dict.fromkeys(f"training.{each}" for each in parameters(Training))
        known = [each for each in full if each not in FLAGS and each not in groups()]
        given = full_name(group, name)
        meant = re.sub(r"\blr\b", "learning_rate", given)
        hint = did_you_mean(meant, known, _as_given) or f"known are {', '.join(known)}"
        return OrdinateError("--set", problem=f"there is no setting {given!r}", hint=hint)


def _as_given(name: str) -> str:
    """Return a setting as it is given to the command, or in Python."""
    group, _, setting = name.rpartition(".")
    if not group or are_arguments_typed():
        return name
    return f"{group}={{{setting!r}: ...}}"


def full_name(group: str, name: str) -> str:
    """Return the name of a setting with that of its group; an empty one stands for the estimator itself.

    Example:
        >>> full_name("training", "learning_rate"), full_name("", "temperature")
        ('training.learning_rate', 'temperature')
    """
    return f"{group}.{name}" if group else name


def _check_name(name: str) -> None:
    """Raise an error for the name of a setting that is given in another way, or of an unknown group."""
    if name in FLAGS:
        raise OrdinateError("--set", name, f"{argument(FLAGS[name])}, which sets it")
    group, dot, _ = name.partition(".")
    if dot and group not in groups():
        hint = did_you_mean(group, groups(), str)
        raise OrdinateError("--set", repr(name), f"a name, or one in {', '.join(groups())}", hint)
    if not dot and name in groups() and name != "head":
        raise OrdinateError("--set", repr(name), f"one of its settings, as in {name}.NAME=VALUE")


def parameters(declared: "type[DataclassInstance]") -> list[str]:
    """Return the names of the parameters that a dataclass has."""
    return [each.name for each in fields(declared) if each.init]


def annotation_of(declared: type, name: str) -> object:
    """Return the annotation of a parameter, which ``from __future__ import annotations`` turns into text."""
    home = next(base for base in declared.__mro__ if name in inspect.get_annotations(base))
    annotation: object = inspect.get_annotations(home)[name]
    if isinstance(annotation, str):
        annotation = inspect.get_annotations(home, eval_str=True)[name]
    return annotation


def converted(text: str, annotation: object) -> object:
    """Return the value that a text stands for, as an annotation says.

    Raises:
        ValueError: No such value fits the annotation.

    Example:
        >>> converted("3e-4", float | None), converted("none", float | None), converted("(3, 4)", tuple[int, int])
        (0.0003, None, (3, 4))
    """
    try:
        literal = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        literal = text
    candidates = [literal, text]
    word = str(literal).lower()
    if word in ("true", "false"):
        candidates.insert(0, word == "true")
    elif word == "none":
        candidates.append(None)
    for value in candidates:
        if fits(value, annotation):
            return _shaped(value, annotation)
    raise ValueError(text)


def fits(value: object, annotation: object) -> bool:
    """Return whether a value fits an annotation; lists fit where tuples do.

    Example:
        >>> fits(3, float | None), fits("sgd", Literal["adam", "adamw"]), fits([3, 4], tuple[int, int])
        (True, False, True)
    """
    origin, inner = get_origin(annotation), get_args(annotation)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in inner)
    if origin is Literal:
        return not isinstance(value, bool) and value in inner
    if origin is tuple:
        return isinstance(value, list | tuple) and len(value) == len(inner) and all(map(fits, value, inner))
    if isinstance(origin, type):
        if issubclass(origin, Mapping):
            return isinstance(value, dict)
        if not issubclass(origin, Sequence) or not isinstance(value, list | tuple):
            return False
        return all(fits(each, inner[0]) for each in value)
    plain: dict[object, bool] = {
        float: is_number, int: is_number and isinstance(value, int), bool: isinstance(value, bool),
        str: isinstance(value, str), NoneType: value is None, None: value is None, Any: True,
    }  # fmt: skip
    return plain.get(annotation, False)


def _shaped(value: object, annotation: object) -> object:
    """Return a list as a tuple, and a whole number as a float if nothing else fits."""
    if isinstance(value, list):
        return tuple(value)
    alternatives = get_args(annotation) or (annotation,)
    if isinstance(value, int) and not isinstance(value, bool) and float in alternatives and int not in alternatives:
        return float(value)
    return value


def description(*annotations: object) -> str:
    """Return which values some annotation allows, for a message.

    Example:
        >>> description(int | Literal["auto"] | None), description(tuple[int, int])
        ('a whole number, auto or none', 'tuple[int, int]')
    """
    named = {int: "a whole number", float: "a number", bool: "true or false", str: "text", NoneType: "none"}
    shown = dict.fromkeys(named.get(each, str(each)) for given in annotations for each in _values(given))
    *first, last = (re.sub(r"<class '|'>|\b[a-z_][\w.]*\.(?=\w)", "", each) for each in shown)
    return f"{', '.join(first)} or {last}" if first else last


def _values(annotation: object) -> list[Any]:
    """Return the types and values that an annotation allows; a function is given in Python only."""
    if get_origin(annotation) is Callable:
        return []
    if get_origin(annotation) not in (Union, UnionType, Literal):
        return [annotation]
    return [part for each in get_args(annotation) for part in _values(each)]
