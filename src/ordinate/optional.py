"""Packages that come with an extra alone."""

from importlib import import_module
from typing import Any

from ordinate.errors import OrdinateError


def optional(module: str, extra: str, purpose: str) -> Any:
    """Import a module of a package that an extra installs.

    Args:
        module: Name of the package, or of a module of ordinate that requires one.
        extra: Extra of ordinate.
        purpose: Feature or file that requires it, for the message.

    Raises:
        OrdinateError: it is not installed; says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = (error.name or module).partition(".")[0]
        raise OrdinateError(
            purpose, problem=f'requires {package} ({error}): pip install "ordinate[{extra}]"'
        ) from error
