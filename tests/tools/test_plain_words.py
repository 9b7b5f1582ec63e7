"""The lint for words finds the patterns in prose, and leaves code alone."""

import pytest
from tools.plain_words import EXCEPTIONS, advice, hits


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


def test_there_are_few_exceptions():
    assert len(EXCEPTIONS.splitlines()) <= 10
