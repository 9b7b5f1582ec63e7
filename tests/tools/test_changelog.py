"""The command that adds an entry to the changelog."""

from pathlib import Path

from tools.changelog import WIDTH, with_entry

CHANGELOG = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
RELEASED = "# Changelog\n\n## 0.1.0\n\n### Reports\n\n- Old.\n"


def test_an_entry_ends_its_section_and_nothing_else_changes():
    section = next(line[4:] for line in CHANGELOG.splitlines() if line.startswith("### "))
    changed = with_entry(CHANGELOG, "A new sentence.", section)
    lines = changed.splitlines()
    place = lines.index("- A new sentence.")
    assert [*lines[:place], *lines[place + 1 :]] == CHANGELOG.splitlines()
    assert next(line for line in reversed(lines[:place]) if line.startswith("### ")) == f"### {section}"
    assert lines[place + 1] == ""


def test_a_version_and_a_section_are_begun_where_there_is_none():
    changed = with_entry(RELEASED, "New.", "Reports")
    assert changed == (
        "# Changelog\n\n## next (unreleased)\n\n### Reports\n\n- New.\n\n## 0.1.0\n\n### Reports\n\n- Old.\n"
    )
    again = with_entry(changed, "Other.", "Losses")
    assert again == changed.replace("### Reports", "### Losses\n\n- Other.\n\n### Reports", 1)


def test_long_entries_are_wrapped():
    added = with_entry(RELEASED, "word " * 60, "Reports").splitlines()
    assert all(len(line) <= WIDTH for line in added)
    assert sum(line.count("word") for line in added) == 60
