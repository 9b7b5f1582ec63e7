"""The order that text labels suggest: words of common scales, and numbers in the text."""

import difflib
import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ordinate.counts import counted
from ordinate.errors import OrdinateError, are_arguments_typed, argument, did_you_mean

SCALES = (  # Words are ordered from lowest to highest; words with the same meaning are separated by |.
    "none|absent|normal|healthy < minimal|trace < mild|slight < moderate < severe|marked < very severe|extreme",
    "none < very low|vlow < low < medium|med|mid|middle|moderate|average|normal < high < very high|vhigh",
    "very bad|terrible|awful < bad < ok|okay|average|neutral|fair|medium|moderate < good < very good|great < excellent",
    "very poor < poor < fair|average|acceptable < good < very good < excellent",
    "strongly disagree < disagree < neutral|undecided|neither agree nor disagree < agree < strongly agree",
    "very dissatisfied < dissatisfied < neutral|neither satisfied nor dissatisfied < satisfied < very satisfied",
    "never < rarely|seldom < sometimes|occasionally < often|frequently|usually < always",
    "very small|tiny < small < medium|med|mid < large|big < very large|huge",
    "xs < s < m < l < xl < xxl",
    "no < yes",
)


UNUSUAL = "not the usual one"  # What notes say of another order.


def known_order(labels: Sequence[str]) -> list[str] | None:
    """Return different labels from lowest to highest where they are of a common scale; None for others.

    Example:
        >>> known_order(["high", "low", "medium"]), known_order(["Stage IV", "Stage II"]), known_order(["cat", "dog"])
        (['low', 'medium', 'high'], ['Stage II', 'Stage IV'], None)
        >>> known_order([">10", "<5", "5-10"]), known_order(["10a", "2", "2b"])
        (['<5', '5-10', '>10'], ['2', '2b', '10a'])
    """
    guesses: list[Sequence[Any]] = [_by_number(labels), *(_by_word(labels, scale) for scale in SCALES)]
    for places in [*guesses, _by_first_number(labels), _by_number_and_letter(labels)]:
        if None not in places and len(set(places)) == len(labels):
            return [label for _, label in sorted(zip(places, labels, strict=True))]
    return None


def _suggested(labels: Sequence[str], most: int = 30, *, are_in_order: bool = False) -> list[str] | None:
    """Return the order of labels to write into a message; None if it is not known, or of more than ``most``.

    Labels that are not sorted along the alphabet are in the order of their file, as others may be.
    """
    order = known_order(labels)
    if order is None and (are_in_order or list(labels) != sorted(labels)):
        order = list(labels)
    if order is None or len(order) > most:
        return None
    return order


def misspelt_rank(labels: Iterable[str], order: Sequence[str]) -> str | None:
    """Return a hint if a label that is not in an order is nearly one that the order has and no label is.

    Example:
        >>> misspelt_rank(["mild", "severe"], ["mild", "sever"])
        "write 'severe' for 'sever'"
        >>> misspelt_rank(["mild", "severe", "unknown"], ["mild", "severe"])
        >>> misspelt_rank(["18", "20"], ["1", "2"]), misspelt_rank(["1", "1b"], ["1", "1a"])
        (None, None)
    """
    labels = set(labels)
    unused = [rank for rank in order if rank not in labels]
    unknown = [label for label in labels.difference(order) if re.search(r"[^\W\d]", label)]  # No other number is meant.
    for label in sorted(unknown):
        near = difflib.get_close_matches(label.casefold(), [rank.casefold() for rank in unused], n=1)
        for rank in unused:
            if [rank.casefold()] == near:
                return f"write {label!r} for {rank!r}"
    return None


def order_problem(labels: Sequence[str]) -> str:
    """Return what is wrong with text labels without an order, and which there are."""
    shown = ", ".join(map(repr, labels[:8]))
    if len(labels) > 8:
        shown += f" and {counted(len(labels) - 8, 'other')}"
    return f"holds text without an order: {shown}"


def order_to_type(labels: Sequence[str], *, are_in_order: bool = False) -> str:
    """Return the argument that gives the order of labels, as it is typed in a shell, or written in Python.

    Args:
        labels: Different labels.
        are_in_order: Whether they are in an order, such as that of their codes, even if it is that of the alphabet.

    Example:
        >>> from ordinate.errors import arguments_as_typed
        >>> with arguments_as_typed():
        ...     print(order_to_type(["high", "low"]), order_to_type(["5, or more", "<5"]), order_to_type(["a", "b"]))
        --order low,high --order '["<5", "5, or more"]' --order "lowest,...,highest"
        >>> print(order_to_type(["high", "low"]))
        order=['low', 'high']
    """
    order = _suggested(labels, are_in_order=are_in_order)
    if not are_arguments_typed():
        return _written("order", order)
    needs_list = any("," in label or label != label.strip() or label.startswith("[") for label in labels)
    if order is None:
        example = """'["lowest", ..., "highest"]'""" if needs_list else '"lowest,...,highest"'
        return f"{argument('order')} {example}"
    text = json.dumps(order, ensure_ascii=False) if needs_list else ",".join(order)
    return argument("order", text)


def order_to_write(labels: Sequence[str]) -> str:
    """Return the argument that gives the order of labels, as it is written in Python.

    Example:
        >>> order_to_write(["high", "low"]), order_to_write(["cat", "dog"])
        ("class_order=['low', 'high']", "class_order=['lowest', ..., 'highest']")
    """
    return _written("class_order", _suggested(labels))


def _written(name: str, order: list[str] | None) -> str:
    return f"{name}=['lowest', ..., 'highest']" if order is None else f"{name}={order!r}"


def _by_word(labels: Sequence[str], scale: str) -> list[int | None]:
    places = {word.strip(): place for place, words in enumerate(scale.split("<")) for word in words.split("|")}
    apart = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label.strip()) for label in labels]  # StronglyAgree is two words.
    return [places.get(" ".join(re.split(r"[\s_-]+", label.lower()))) for label in apart]


def other_ranks(name: str, unknown: Sequence[str], ranks: Iterable[str]) -> OrdinateError:
    """Return the error of labels that are none of the ranks of a model."""
    known = list(ranks)
    problem = f"holds {', '.join(map(repr, unknown[:5]))}"
    hint = did_you_mean(unknown[0].strip(), known)
    return OrdinateError(name, problem=problem, expected=f"the ranks of the model: {', '.join(known)}", hint=hint)


def _by_first_number(labels: Sequence[str]) -> list[float | None]:
    """Return the number that each label begins with, as in "0 healthy" and "1 - mild"."""
    matches = [re.match(r"\s*(\d+)[\s._:)=-]+\D", label) for label in labels]
    return [None if match is None else float(match[1]) for match in matches]


def _by_number_and_letter(labels: Sequence[str]) -> list[tuple[int, str] | None]:
    """Return the number and the letter that each label consists of, as in "2a" and "2b"; of some the number alone."""
    matches = [re.fullmatch(r"\s*(\d+)([a-z]?)\s*", label.lower()) for label in labels]
    return [None if match is None else (int(match[1]), match[2]) for match in matches]


def _by_number(labels: Sequence[str]) -> list[tuple[float, float, bool] | None]:
    """Return the first and last number of each label, if the other words are the same in all of them."""
    texts = [re.sub(r"(?<=\d),(?=\d{3})", "", label.strip()) for label in labels]
    texts = [re.sub(r"\b[IVX]+$", _arabic, text).lower() for text in texts]
    ranges = {"under", "below", "less", "than", "up", "to", "over", "above", "more", "and", "or", "older", "younger"}
    words = {frozenset(re.findall(r"[^\W\d_]+", text)) - ranges for text in texts}
    if len(words - {frozenset()}) > 1:  # A unit may stand in some of them alone.
        return [None]
    return [_numbers(text) for text in texts]


def _arabic(roman: re.Match[str]) -> str:
    """Return a Roman number up to 19 in digits."""
    ones = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
    numbers = [*ones, *(f"X{one}" for one in ones)]
    if roman[0] not in numbers:
        return roman[0]
    return str(numbers.index(roman[0]))


def _numbers(text: str) -> tuple[float, float, bool] | None:
    numbers = [float(number) for number in re.findall(r"(?:^-)?\d+(?:\.\d+)?", text)]
    if not numbers:
        return None
    lowest = numbers[0]
    if text.startswith(("<", "≤", "under ", "below ", "less ", "up to ")):
        lowest = -math.inf
    return lowest, numbers[-1], text.startswith((">", "≥", "over ", "above ", "more "))
