"""Groups of options: frozen dataclasses that check themselves, each of which is one parameter of an estimator."""

import copy
from dataclasses import MISSING, dataclass, fields
from typing import Any, Self

Settings = dict[str, Any]  # Options or other values by name, as keyword arguments or JSON hold them.


@dataclass(frozen=True, repr=False, eq=False)
class OptionGroup:
    """The base of option groups, which lets scikit-learn see their fields as nested parameters.

    ``get_params`` of an estimator lists them as ``training__learning_rate``, and ``set_params`` and ``GridSearchCV``
    replace the group by one with another value.
    """

    def get_params(self, deep: bool = True) -> Settings:  # Scikit-learn passes it.
        """Return all options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        """Name the options that differ from their defaults."""
        changed = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.repr and (field.default is MISSING or (value is not field.default and value != field.default)):
                changed.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_clone__(self) -> Self:
        """Return a copy, so that clones of an estimator share no callback or logger."""
        return copy.deepcopy(self)
