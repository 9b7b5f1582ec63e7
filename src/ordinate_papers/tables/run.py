"""A run: one training or measurement of a table, and the key of everything that determines it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

from ordinate.errors import OrdinateError

Settings = Mapping[str, Any]  # JSON values by name.


@dataclass(frozen=True, eq=False)
class Run:
    """A training or measurement that is made once. Runs with the same key are equal.

    Args:
        dataset: Name of the data set.
        model: Name of the model.
        protocol: Name of the evaluation.
        settings: JSON values by name. A copy with sorted names and with tuples instead of lists is kept.
        seed: Seed of split and training, a whole number of at least 0.
        facts: JSON values that also determine the result, such as the version of Ordinate and the digest of the data.

    Example:
        >>> run = Run("airfoil", "supcr", settings={"learning_rate": 0.1}, seed=3)
        >>> run.label
        'supcr on airfoil, learning_rate=0.1, seed 3'
        >>> run == Run("airfoil", "supcr", settings={"learning_rate": 0.1}, seed=3)
        True
    """

    dataset: str
    model: str
    protocol: str = "plain"
    settings: Settings = field(default_factory=dict)
    seed: int = 0
    facts: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("dataset", "model", "protocol"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise OrdinateError(name, repr(value), "a name")
        if type(self.seed) is not int or self.seed < 0:
            raise OrdinateError("seed", repr(self.seed), "a whole number of at least 0")
        object.__setattr__(self, "settings", _plain("settings", dict(self.settings)))
        object.__setattr__(self, "facts", _plain("facts", dict(self.facts)))

    @cached_property
    def key(self) -> str:
        """The SHA-256 of :meth:`to_json`, in hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @property
    def label(self) -> str:
        """The run in words, without its facts."""
        parts = [f"{self.model} on {self.dataset}"]
        if self.protocol != "plain":
            parts.append(self.protocol)
        parts += [f"{name}={value}" for name, value in self.settings.items()]
        return ", ".join([*parts, f"seed {self.seed}"])

    def to_json(self) -> str:
        """Return the run as JSON that is the same text for the same run, on every machine."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), allow_nan=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


def _plain(argument: str, value: object) -> object:
    """Return a copy of a JSON value, with tuples instead of lists, and with sorted names."""
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, list | tuple):
        return tuple(_plain(argument, item) for item in value)
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _plain(argument, value[name]) for name in sorted(value)}
    raise OrdinateError(argument, repr(value), "JSON: text, finite numbers, None, lists or mappings")
