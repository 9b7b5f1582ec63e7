"""The one exception that Ordinate raises for input it cannot use."""

import difflib
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self

# Warnings show the first line of code outside of these.
LIBRARIES = {"ordinate", "ordinate_papers", "sklearn", "joblib", "contextlib", "functools"}
_typed: ContextVar[bool] = ContextVar("typed", default=False)


class OrdinateError(ValueError):
    """Input that cannot be used: the argument, what it got, what is expected, and the way out.

    Args:
        argument: Name of the argument, option, file or column at fault; a message of its own where nothing else is
            given.
        got: Value that was given.
        expected: Values that it may have.
        hint: Advice on how to avoid the error.
        problem: Description of what is wrong, where ``got`` does not say it.

    Example:
        >>> str(OrdinateError("temperature", -1, "a number above 0"))
        'temperature: got -1, expected a number above 0'
        >>> str(OrdinateError("ages.csv", problem="no such file", hint="--data names another"))
        'ages.csv: no such file; --data names another'
    """

    def __init__(
        self,
        argument: object,
        got: object = None,
        expected: object = None,
        hint: object = None,
        *,
        problem: object = None,
    ) -> None:
        self.argument = str(argument)
        self.got, self.expected, self.hint, self.problem = map(_text, (got, expected, hint, problem))
        parts = []
        if self.got is not None:
            parts.append(f"got {self.got}")
        if self.problem:
            parts.append(self.problem)
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        text = ": ".join(filter(None, (self.argument, ", ".join(parts))))
        if self.hint is not None:
            text = f"{text}; {self.hint}"
        super().__init__(text)

    def of(self, argument: str) -> Self:
        """Return the same error of another argument, such as the option of a command."""
        return type(self)(argument, self.got, self.expected, self.hint, problem=self.problem)

    def naming(self, old: str, new: str) -> Self:
        """Return the same error with another name in all of its text, such as an argument instead of its file."""
        parts = (self.argument, self.got, self.expected, self.hint, self.problem)
        *renamed, problem = (part and part.replace(old, new) for part in parts)
        return type(self)(*renamed, problem=problem)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.argument, self.got, self.expected, self.hint, self.problem)


def _text(part: object) -> str | None:
    return None if part is None else str(part)


@contextmanager
def arguments_as_typed() -> Iterator[None]:
    """Let messages of a block name arguments as the options of a command."""
    token = _typed.set(True)
    try:
        yield
    finally:
        _typed.reset(token)


def are_arguments_typed() -> bool:
    """Return whether messages name arguments as the options of a command."""
    return _typed.get()


def argument(name: str, value: object = None) -> str:
    """Return an argument for the text of a message: as Python has it, or as it is typed after a command.

    Args:
        name: Name in Python; that of a setting of a group with the group, such as ``"data.mirror"``.
        value: Value that the message gives it; None names the argument alone.

    Example:
        >>> argument("keep"), argument("keep", "my id"), argument("data.mirror", False)
        ('keep=', "keep='my id'", "data={'mirror': False}")
        >>> with arguments_as_typed():
        ...     argument("test_fraction"), argument("keep", "my id"), argument("data.mirror", False)
        ('--test-fraction', "--keep 'my id'", '--set data.mirror=false')
    """
    group, _, setting = name.rpartition(".")
    if not _typed.get():
        if group:
            return f"{group}={{{setting!r}: {value!r}}}"
        return f"{name}=" if value is None else f"{name}={value!r}"
    if group:
        return f"--set {name}={str(value).lower()}"
    option = f"--{name.replace('_', '-')}"
    return option if value in (None, True) else f"{option} {shlex.quote(str(value))}"


def warn(message: object, category: type[Warning] = UserWarning) -> None:
    """Warn the user, whose line of code is shown; a command prints the message alone."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in LIBRARIES:
        frame = frame.f_back
        level += 1
    warnings.warn(str(message), category, stacklevel=level)


def did_you_mean(given: str, known: Iterable[str], shown: Callable[[str], str] = repr) -> str | None:
    """Return a hint with the known name nearest to one that is not known; None if none is near.

    Example:
        >>> did_you_mean("grad", ["age", "grade"])
        "did you mean 'grade'?"
        >>> did_you_mean("AGE", ["age", "grade"])
        "did you mean 'age'?"
    """
    small = {name.casefold(): name for name in known}  # Capitals make no difference.
    near = difflib.get_close_matches(given.casefold(), list(small), n=1)
    if not near:
        return None
    return f"did you mean {shown(small[near[0]])}?"


def _rebuild(
    kind: type[OrdinateError], argument: str, got: object, expected: object, hint: object, problem: object
) -> OrdinateError:
    return kind(argument, got, expected, hint, problem=problem)
