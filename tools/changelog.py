"""Add an entry to CHANGELOG.md, under the version that is not released yet.

python tools/changelog.py "Reports open on a phone." [--section "Reports"]
"""

import argparse
import textwrap
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"
UNRELEASED = "(unreleased)"
WIDTH = 125


def main() -> None:
    """Read the arguments and write the file."""
    parser = argparse.ArgumentParser(description="Add an entry to CHANGELOG.md, under the version to come.")
    parser.add_argument("text", help="one entry, in the words of whoever uses it")
    parser.add_argument("--section", default="Changes", help="heading that it belongs under (%(default)s)")
    given = parser.parse_args()
    if not given.text.strip():
        parser.error("the entry is empty")
    CHANGELOG.write_text(with_entry(CHANGELOG.read_text(encoding="utf-8"), given.text, given.section), encoding="utf-8")


def with_entry(text: str, entry: str, section: str) -> str:
    """Return the changelog with an entry at the end of a section; what is missing of version and section is begun."""
    head, *versions = text.split("\n## ")
    if not versions or UNRELEASED not in versions[0].splitlines()[0]:
        versions.insert(0, f"next {UNRELEASED}\n")
    title, *sections = versions[0].rstrip().split("\n### ")
    line = textwrap.fill(" ".join(entry.split()), WIDTH, initial_indent="- ", subsequent_indent="  ")
    for place, content in enumerate(sections):
        if content.splitlines()[0] == section:
            sections[place] = f"{content.rstrip()}\n{line}\n"
            break
    else:
        sections.insert(0, f"{section}\n\n{line}\n")
    versions[0] = "\n\n### ".join([title.rstrip(), *(content.rstrip() for content in sections)]) + "\n"
    return "\n\n## ".join([head.rstrip(), *(version.strip("\n") for version in versions)]) + "\n"


if __name__ == "__main__":
    main()
