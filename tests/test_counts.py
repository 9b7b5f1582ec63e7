"""Counts in messages: one thing is in the singular."""

import ast
import re
from pathlib import Path

import pytest

from ordinate.counts import counted

SOURCES = sorted(path for name in ("ordinate", "ordinate_papers") for path in Path("src", name).rglob("*.py"))
# What these hold is no number, or not 1.
NO_COUNTS = {
    "argument", "colour", "group", "name", "number", "folder / CONFIG", "self.folder / CONFIG", "printable",
    "entries or 2 ** 16", "header.precision",
}  # fmt: skip


@pytest.mark.parametrize(
    ("number", "rows", "classes"),
    [(0, "0 rows", "0 classes"), (1, "1 row", "1 class"), (12345, "12,345 rows", "12,345 classes")],
)
def test_one_thing_is_in_the_singular(number, rows, classes):
    assert counted(number, "row") == rows
    assert counted(number, "class", "classes") == classes


def _calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "counted"]


def _plurals(tree):
    for call in _calls(tree):
        words = [ast.literal_eval(word) for word in call.args[1:]]
        yield words[1] if len(words) > 1 else f"{words[0]}s"


def _counts_before(tree, nouns):
    """Yield the numbers of a source's f-strings that stand before nouns in the plural."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, text in zip(node.values, node.values[1:], strict=False):
            is_value = isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant)
            if not is_value or ast.unparse(value.value).partition("(")[0] in NO_COUNTS:
                continue
            is_fraction = value.format_spec is not None and ast.unparse(value.format_spec) != "f','"
            if not is_fraction and nouns.match(text.value):
                yield value, text.value


def test_the_source_counts_in_no_other_way():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
    plurals = {plural for tree in trees.values() for plural in _plurals(tree)}
    plurals |= {plural.split()[-1] for plural in plurals}
    assert {"columns", "rows", "samples", "epochs", "ranks"} <= plurals
    nouns = re.compile(rf" (?:{'|'.join(map(re.escape, sorted(plurals)))})\b")
    fixed = [
        f"{path}:{value.lineno}: {{{ast.unparse(value.value)}}}{text}"
        for path, tree in trees.items()
        for value, text in _counts_before(tree, nouns)
    ]
    assert fixed == []
