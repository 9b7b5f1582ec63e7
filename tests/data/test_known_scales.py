"""The order of text labels that an error suggests."""

import random
import shlex

import pytest

from ordinate.cli import build_parser
from ordinate.commands.fit_options import ranks_in
from ordinate.data.known_scales import known_order, order_to_type
from ordinate.errors import arguments_as_typed

ORDERS = [
    ["bad", "ok", "good"],
    ["Very low", "LOW", "medium", "high"],
    ["none", "mild", "moderate", "severe"],
    ["poor", "fair", "good", "very good", "excellent"],
    ["strongly_disagree", "disagree", "neutral", "agree", "strongly_agree"],
    ["I", "II", "III", "IV", "IX"],
    ["Stage I", "Stage II", "Stage IV"],
    ["Grade 1", "Grade 2", "Grade 10"],
    ["0", "1+", "2+", "3+"],
    ["<5", "5-10", ">10"],
    ["under 5", "5 to 10", "over 10"],
    ["$1", "$2", "$10"],
    ["-10 dB", "-5 dB", "0 dB"],
    ["<1,000", "1,000-2,000", "2,000 or more"],
    ["-2", "-1", "0", "1", "2"],
    ["0 healthy", "1 mild", "2 - severe", "10 dead"],
    ["0-9g/day", "10-19", "20-29", "30+"],
    ["Bad", "Medium", "Good"],
    ["StronglyDisagree", "Disagree", "Agree", "StronglyAgree"],
    ["No", "Yes"],
]


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_a_known_scale_is_suggested_as_a_shell_and_the_command_read_it(order):
    labels = random.Random(0).sample(order, len(order))
    assert known_order(labels) == order
    with arguments_as_typed():
        words = shlex.split(order_to_type(labels))
    assert ranks_in(build_parser().parse_args(["fit", "table.csv", *words]).order) == order


@pytest.mark.parametrize(
    "labels", [["cat", "dog"], ["A", "B", "C"], ["AA", "BBB", "A"], ["T1", "T2", "T2a"], ["ok", "average", "bad"]]
)
def test_others_have_no_order(labels):
    assert known_order(labels) is None
