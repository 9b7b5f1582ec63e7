"""Every block of README runs as it stands, in order, and prints what the page shows."""

import re

import pytest
from tools.readme import BLOCK, ROOT, check, run, same

README = (ROOT / "README.md").read_text()


def test_the_blocks_print_what_the_page_shows():
    assert [str(each) for each in check(ROOT / "README.md")] == []


@pytest.mark.thorough
@pytest.mark.parametrize("page", ["tables", "images"])
def test_the_start_pages_print_what_they_show(page):
    assert [str(each) for each in check(ROOT / "docs" / "start" / f"{page}.md")] == []


def test_every_block_is_code_that_runs_or_its_output():
    languages = [block[1] for block in BLOCK.finditer(README)]
    assert README.count("```") == 2 * len(languages)
    assert set(languages) == {"bash", "python", "text"}


def test_commands_in_sentences_are_commands_of_the_parser(tmp_path):
    """Those that take long are not run, but their options are."""
    commands = re.findall(r"`(ordinate [^`]+)`", README)
    assert len(commands) >= 6
    for command in commands:
        words = command.split()
        text = run("bash", f"{' '.join(words[:2])} --help", tmp_path)
        assert all(word in text for word in words if word.startswith("--")), command


@pytest.mark.parametrize(
    ("found", "is_same"),
    [
        ("58% right, 0.44 in 40 s\n", True), ("57% right, 0.45 in 9 s\n", True), ("38% right, 0.44 in 4 s\n", False),
        ("58% wrong, 0.44 in 4 s\n", False), ("58% right, 0.44 in 4 s\nmore\n", False),
    ],
)  # fmt: skip
def test_outputs_may_differ_in_last_digits_and_in_times_alone(found, is_same):
    assert same("58% right, 0.44 in 4 s\n", found) == is_same


def test_a_page_that_shows_something_else_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```bash\nexpr 40 + 2\n```\n\n```text\n41 apples\n```\n\n```python\nprint(1)\n```\n")
    (difference,) = check(page)
    assert difference.found == "42\n"
    page.write_text("```bash\nfalse\n```\n")
    with pytest.raises(RuntimeError):
        check(page)
