"""The built site, where there is one."""

from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"

built = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="the site is not built: make docs")
