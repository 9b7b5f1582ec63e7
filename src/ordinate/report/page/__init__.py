"""Report pages: one HTML file each, which opens offline and holds everything it shows."""

from ordinate.report.page.comparison import write_comparison
from ordinate.report.page.page import write_report

__all__ = ["write_comparison", "write_report"]
