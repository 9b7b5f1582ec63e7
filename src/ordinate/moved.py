"""Old names of packages, for one release."""

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Moved(MetaPathFinder, Loader):
    """Finds the modules of a package that has moved under their old names too: the same objects."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.startswith(f"{self.old}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.new + spec.name.removeprefix(self.old))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = module.__spec__ and module.__spec__.loader_state  # its own again


def moved(old: str, new: str) -> None:
    """Serve a package under its old name, with a warning."""
    warnings.warn(f"{old} is now {new}; the old name goes with the next release", DeprecationWarning, stacklevel=3)
    sys.meta_path.insert(0, _Moved(old, new))
    sys.modules[old] = import_module(new)
