"""Report pages: one HTML file each, which opens offline and holds everything it shows."""

from typing import TYPE_CHECKING

from ordinate.optional import optional

if TYPE_CHECKING:
    from ordinate.report.page.page import write_report

__all__ = ["write_report"]


def __getattr__(name: str) -> object:
    """Import a name on first use, as bokeh takes a second to import and comes with an extra."""
    if name != "write_report":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return optional(f"{__name__}.page", "report", "report.html").write_report
