"""The lint for words finds the patterns in prose, and leaves code alone."""

import pytest
from tools.plain_words import ROOT, advice, files, hits


def found(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [words for _, words in hits(path)]


@pytest.mark.parametrize(
    "words",
    ["beside", "in place of", "but for", "likewise", "alike", "trainings", "had no say", "told", "one value an anchor",
     "what was guessed is", "had 0.635", "by heart", "5 %", "what prints", "are of before"],
)  # fmt: skip
def test_a_phrase_of_the_dialect_is_found_also_over_two_lines(tmp_path, words):
    assert found(tmp_path, "page.md", f"Some text {words} and more.") == [words]
    assert found(tmp_path, "page.md", f"Some text {words.replace(' ', chr(10))} and more.") == [words]
    assert advice(words) != ""


def test_code_and_addresses_are_left_alone(tmp_path):
    page = "`beside` and [a link](beside.md)\n\n```\nbeside = 5 % 2\n```\n"
    assert found(tmp_path, "page.md", page) == []


def test_an_entry_that_begins_with_a_preposition_is_found(tmp_path):
    module = 'def f(a):\n    """Do it.\n\n    Args:\n        a: of the loss.\n    """\n'
    assert found(tmp_path, "module.py", module) == ["of"]
    assert found(tmp_path, "module.py", module.replace("of the loss", "Weight of the loss")) == []


def test_the_line_of_a_hit_is_that_of_the_file(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("One.\n\nTwo lines, of which\nthe second is beside it.\n", encoding="utf-8")
    assert [line for line, _ in hits(path)] == [4]


@pytest.mark.parametrize(
    "word", ["of", "by", "with", "from", "at", "on", "in", "as", "for", "to", "that", "which", "where", "images"]
)
def test_a_comment_that_continues_the_code_before_it_is_found(tmp_path, word):
    assert found(tmp_path, "module.py", f"RATE = 2e-3  # {word} the networks\n") == [word]
    assert found(tmp_path, "module.py", f"# {word} the networks\nRATE = 2e-3\n") == [word]
    assert found(tmp_path, "module.py", f"RATE = 2e-3  # noqa: N806  # {word} the networks\n") == [word]
    assert found(tmp_path, "module.py", f"RATE = 2e-3  # {word.capitalize()} the networks.\n") == []


@pytest.mark.parametrize(
    "comment",
    ["# fmt: skip", "# noqa: S101", "# noqa", "# type: ignore[arg-type]", "# pragma: no cover", "#!/usr/bin/env python",
     "# %%", "# `torch.where` is slower.", "# index_select is faster.", "# 32 images at a time.", "#"],
)  # fmt: skip
def test_markers_and_names_of_code_are_no_fragments(tmp_path, comment):
    assert found(tmp_path, "module.py", f"{comment}\nx = 1  {comment}\n") == []


def test_later_lines_of_a_comment_may_begin_with_any_word(tmp_path):
    assert found(tmp_path, "module.py", "# Neighbours are the nearest samples\n# of the training set.\nx = 1\n") == []
    assert found(tmp_path, "module.py", "x = 1  # The first value.\n# of the second\ny = 2\n") == ["of"]
    assert found(tmp_path, "module.py", "# A phrase may be in\n# place of another.\nx = 1\n") == ["in place of"]


def test_strings_are_checked_except_names_in_results(tmp_path):
    assert found(tmp_path, "module.py", 'note = "a value beside it"  # of the table\n') == ["beside", "of"]


def test_scripts_of_benchmarks_and_tools_are_checked_except_the_list_of_words():
    names = {path.relative_to(ROOT).as_posix() for path in files(["benchmarks", "tools"])}
    assert {"benchmarks/pays.py", "tools/figures.py"} <= names
    assert "tools/plain_words.py" not in names
