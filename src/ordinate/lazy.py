"""Names of a package that are imported on first use."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from threading import RLock

# Two threads whose first imports meet in a circular import, as scikit-learn and SciPy have them, are given a module
# that is half initialised, or an error. One lock for all packages, as their modules import each other; re-entrant, as
# a module may use lazy names of its own. Modules that are imported here must not use them while they are imported:
# another thread may then hold the lock and wait for that very module.
_FIRST_IMPORT = RLock()


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package. Threads may ask for its names at the same time.

    Args:
        package: Name of the package.
        homes: Module that defines each of its names; a module below the package defines itself.
    """

    def getattr_(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with _FIRST_IMPORT:
            module = import_module(homes[name])
            if homes[name] == f"{package}.{name}":
                return module
            return getattr(module, name)

    def dir_() -> list[str]:
        return sorted({name for name in vars(sys.modules[package]) if name.startswith("__")} | {*homes})

    return getattr_, dir_
