"""The one exception that Ordinate raises for input it cannot use."""

import difflib
from collections.abc import Callable, Iterable
from typing import Self


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
