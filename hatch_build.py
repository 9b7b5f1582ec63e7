"""The package's page: README with absolute addresses, as the page has no other files of the repository beside it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)((?:#[^)\s]*)?)\)")


class ReadmeHook(MetadataHookInterface):
    """Fills the package's description."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = with_absolute_addresses(readme, metadata["urls"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_absolute_addresses(text: str, urls: Mapping[str, str]) -> str:
    """Return Markdown with its links and pictures at the addresses of the site and of the repository."""
    return RELATIVE.sub(lambda found: f"]({address(found[1], urls)}{found[2]})", text)


def address(path: str, urls: Mapping[str, str]) -> str:
    """Return where a file of the repository is found: its page on the site if it has one."""
    site = urls["Documentation"]
    if path.startswith("docs/"):
        file = Path(path.removeprefix("docs/"))
        if file.suffix == ".md":
            return f"{site}/{file.with_suffix('.html').as_posix()}"
        if file.suffix:
            return f"{site}/_images/{file.name}"
        return f"{site}/generated/{file.as_posix()}/index.html"
    return f"{urls['Repository']}/blob/main/{path}"
