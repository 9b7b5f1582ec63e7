"""Run the blocks of README in one new folder, and compare what they print with the blocks of output below them.

    python tools/readme.py [--write] [PAGE ...]

Blocks of ``bash`` and ``python`` run in their order, each in a process of its own. A block of ``text`` that follows one
of them is its output. ``--write`` replaces blocks of output that differ. Numbers may differ by a twentieth, or by 0.05,
as other processors and versions round differently; seconds and sizes of files may differ in any way. PAGE is a page of
Markdown (README.md).
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
VOLATILE = re.compile(r"\d+(?:\.\d+)?(?= s\b| seconds?\b| MB\b)")


@dataclass(frozen=True)
class Difference:
    """A block whose output is not the one that the page shows.

    Args:
        code: The block.
        expected: Output on the page.
        found: Output.
        span: Where the expected output stands on the page.
    """

    code: str
    expected: str
    found: str
    span: tuple[int, int]

    def __str__(self) -> str:
        lines = difflib.unified_diff(self.expected.splitlines(), self.found.splitlines(), "page", "output", lineterm="")
        return "\n".join([self.code.rstrip(), *lines])


def check(page: Path) -> list[Difference]:
    """Run the blocks of a page, and return those that print something else.

    Raises:
        RuntimeError: A block fails.
    """
    blocks = list(BLOCK.finditer(page.read_text(encoding="utf-8")))
    found = []
    with tempfile.TemporaryDirectory(prefix="readme-") as folder:
        for place, block in enumerate(blocks):
            if block[1] not in ("bash", "python"):
                continue
            output = run(block[1], block[2], folder)
            following = blocks[place + 1] if place + 1 < len(blocks) else None
            if following is not None and following[1] == "text" and not same(following[2], output):
                found.append(Difference(block[2], following[2], output, following.span(2)))
    return found


def run(language: str, code: str, folder: str) -> str:
    """Run a block in a folder, and return what it prints.

    Raises:
        RuntimeError: The block fails.
    """
    command = [sys.executable, "-c", code]
    if language == "bash":
        command = ["bash", "-e", "-c", code]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{code}\n{done.stdout}{done.stderr}")
    return done.stdout


def same(expected: str, found: str) -> bool:
    """Return whether two outputs have the same words, and numbers that are nearly the same.

    Example:
        >>> same("0.438, in 3 s", "0.441, in 12 s"), same("0.438", "0.638"), same("worse", "better")
        (True, False, False)
    """
    pages, numbers = [], []
    for text in (expected, found):
        plain = VOLATILE.sub("N", text)
        pages.append(re.sub(r"[ -]+", " ", NUMBER.sub("0", plain)))
        numbers.append([float(number) for number in NUMBER.findall(plain)])
    if pages[0] != pages[1]:
        return False
    return all(abs(a - b) <= max(0.05, 0.05 * abs(a)) for a, b in zip(*numbers, strict=True))


def main() -> int:
    """Print the differences; return 1 if there are any that were not written."""
    parser = argparse.ArgumentParser(description="Compare what the blocks of README print with what it shows.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="pages of Markdown (README.md)")
    parser.add_argument("--write", action="store_true", help="replace the blocks of output that differ")
    given = parser.parse_args()
    differs = False
    for page in map(Path, given.pages or [ROOT / "README.md"]):
        differences = check(page)
        for difference in differences:
            print(f"{page}: {difference}\n")
        if given.write:
            text = page.read_text(encoding="utf-8")
            for difference in reversed(differences):
                start, end = difference.span
                text = text[:start] + difference.found + text[end:]
            page.write_text(text, encoding="utf-8")
        differs |= bool(differences) and not given.write
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
