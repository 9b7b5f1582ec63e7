"""A run: one training or measurement of a table, and the key of all that determines it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from math import isfinite
from typing import Any

from ordinate.errors import OrdinateError

Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Run:
    """What is trained or measured once; equal to every run with the same key.

    Args:
        dataset: its name.
        model: its name.
        protocol: the evaluation.
        settings: by name, JSON values; a mapping or pairs, kept as pairs sorted by name, with tuples for lists.
        seed: a whole number, 0 or more.
        facts: what else determines the result, as ``settings``: the version of Ordinate, the digest of the data.

    Example:
        >>> run = Run("airfoil", "supcr", settings={"learning_rate": 0.1}, seed=3)
        >>> run.label
        'supcr on airfoil, learning_rate=0.1, seed 3'
        >>> Run.from_json(run.to_json()) == run
        True
    """

    dataset: str
    model: str
    protocol: str = "plain"
    settings: Mapping[str, Any] | Settings = ()
    seed: int = 0
    facts: Mapping[str, Any] | Settings = ()

    def __post_init__(self) -> None:
        for name in ("dataset", "model", "protocol"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise OrdinateError(name, repr(value), "a name")
        if type(self.seed) is not int or self.seed < 0:
            raise OrdinateError("seed", repr(self.seed), "a whole number of at least 0")
        for name in ("settings", "facts"):
            object.__setattr__(self, name, _pairs(name, getattr(self, name)))

    @cached_property
    def key(self) -> str:
        """The SHA-256 of :meth:`to_json`, in hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @property
    def kind(self) -> str:
        """What runs have in common that take about as long."""
        return f"{self.model} on {self.dataset}" + (f", {self.protocol}" if self.protocol != "plain" else "")

    @property
    def label(self) -> str:
        """The run in words, without its facts."""
        settings = [f"{name}={value}" for name, value in dict(self.settings).items()]
        return ", ".join([self.kind, *settings, f"seed {self.seed}"])

    def to_json(self) -> str:
        """Return the run as JSON that is the same text for the same run, on every machine."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {name: dict(values[name]) for name in ("settings", "facts")}
        return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Run":
        """Return the run that :meth:`to_json` wrote."""
        return cls(**json.loads(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


def _pairs(argument: str, given: Mapping[str, Any] | Settings) -> Settings:
    pairs = list(given.items() if isinstance(given, Mapping) else given)
    if len({name for name, _ in pairs}) < len(pairs):
        raise OrdinateError(argument, repr(given), "every name once")
    return tuple(_plain(argument, dict(pairs)).items())


def _plain(argument: str, value: Any) -> Any:
    """A copy of a JSON value, with tuples for lists and sorted names."""
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, list | tuple):
        return tuple(_plain(argument, item) for item in value)
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _plain(argument, value[name]) for name in sorted(value)}
    raise OrdinateError(argument, repr(value), "JSON: text, finite numbers, None, lists or mappings")
