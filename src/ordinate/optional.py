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
        raise missing(error, error.name or module, extra, purpose) from error


def missing(error: ImportError, module: str, extra: str, purpose: str) -> OrdinateError:
    """Return the error that says which package is missing, and the extra that installs it.

    Example:
        >>> missing(ImportError("no bokeh"), "bokeh.plotting", "report", "report.html")
        OrdinateError('report.html: requires bokeh (no bokeh): pip install "ordinate[report]"')
    """
    package = module.partition(".")[0]
    return OrdinateError(purpose, problem=f'requires {package} ({error}): pip install "ordinate[{extra}]"')
