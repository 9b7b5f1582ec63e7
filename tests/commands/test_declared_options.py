"""Options that are declared once: their parser, the bounds of their numbers, and the command that repeats them."""

import argparse
from dataclasses import dataclass, fields

import pytest

from ordinate.commands.fit_options import FitOptions
from ordinate.commands.options import add_options, check_numbers, command_line, default_of, option
from ordinate.errors import OrdinateError
from ordinate_papers.commands.options import TableCommandOptions


@dataclass(frozen=True)
class Options:
    data: str = option(..., "what is read")
    steps: int | None = option(None, "how many", least=2)
    share: float = option(0.5, above=0, below=1)
    name: list[str] = option([], metavar="NAME")
    size: list[int] = option([], nargs="+")
    fast: bool = option(False)
    seldom: int = option(0, "seldom needed", rare=True)


def parsed(*words, only=None, **texts):
    parser = argparse.ArgumentParser()
    add_options(parser, Options, only, **texts)
    return parser, vars(parser.parse_args(words))


def test_types_defaults_and_repeated_options_follow_from_the_fields():
    defaults = {"data": "d", "steps": None, "share": 0.5, "name": [], "size": [], "fast": False, "seldom": 0}
    assert parsed("d")[1] == defaults
    given = ["d", "--steps", "3", "--share", "0.1", "--name", "a", "--name", "b", "--size", "1", "2", "--fast"]
    assert parsed(*given)[1] == {
        "data": "d", "steps": 3, "share": 0.1, "name": ["a", "b"], "size": [1, 2], "fast": True, "seldom": 0,
    }  # fmt: skip
    assert parsed("d")[1]["name"] == []  # no list is shared between parses


def test_rare_options_are_left_out_of_the_help_and_can_be_given():
    parser = argparse.ArgumentParser()
    add_options(parser, Options, hide_rare=True)
    assert "seldom" not in parser.format_help()
    assert parser.parse_args(["d", "--seldom", "3"]).seldom == 3
    assert "seldom needed" in parsed("d")[0].format_help()


def test_some_may_be_added_alone_with_a_help_of_their_own():
    parser, found = parsed(only=("steps",), steps="another text")
    assert found == {"steps": None}
    assert "another text" in parser.format_help()
    assert "how many" not in parser.format_help()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": 1}, "--steps: got 1, expected a whole number of at least 2"),
        ({"share": 0.0}, "--share: got 0.0, expected a finite number above 0 and below 1"),
        ({"share": 1.0}, "--share: got 1.0, expected a finite number above 0 and below 1"),
        ({"share": float("nan")}, "--share: got nan, expected"),
    ],
)
def test_numbers_out_of_bounds_are_errors(given, message):
    check_numbers(Options("d", steps=2))
    with pytest.raises(OrdinateError, match=f"^{message}"):
        check_numbers(Options("d", **given))


def test_the_command_that_repeats_options_names_those_that_were_given():
    options = Options("my data.csv", steps=3, name=["a", "b"], fast=True)
    words = ["ordinate", "fit", options.data]
    assert command_line(words, options, leave_out=("data", "fast")) == (
        "ordinate fit 'my data.csv' --steps 3 --name a --name b"
    )


def test_a_model_depends_on_all_options_of_fit_but_these():
    free = {each.name for each in fields(FitOptions) if not each.metadata.get("determines", True)}
    assert free == {"data", "out", "logger", "no_report", "quiet", "config", "costs", "set"}
    assert len(FitOptions("d").determining) == len(fields(FitOptions)) - len(free) + 1


def test_a_model_depends_on_settings_that_do_not_only_say_where_to_train():
    plain = FitOptions("d").determining
    assert FitOptions("d", set=["training.accelerator=cpu"]).determining == plain
    for setting in ("training.learning_rate=1", "temperature=2", "data.size=3"):
        assert FitOptions("d", set=[setting]).determining != plain


@pytest.mark.parametrize("options", [FitOptions, TableCommandOptions])
def test_every_option_parses_to_its_default(options):
    parser = argparse.ArgumentParser()
    add_options(parser, options)
    found = vars(parser.parse_args(["d"] if options is FitOptions else []))
    for each in fields(options):
        assert found[each.name] == ("d" if each.name == "data" else default_of(each))
