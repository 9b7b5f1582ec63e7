"""Labels on the command line: ranks in an order or a continuous target, boundaries between ranks, costs of mistakes."""

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.commands.fit_options import ranks_in
from ordinate.counts import counted
from ordinate.data.known_scales import UNUSUAL, known_order, misspelt_rank, order_problem, order_to_type
from ordinate.data.numbers import as_numbers, plain_text, split_unit
from ordinate.data.tables.date_forms import date_form
from ordinate.data.typed import CODES
from ordinate.decisions import read_costs
from ordinate.errors import OrdinateError, argument
from ordinate.extensions import Task
from ordinate.metrics.inputs import LARGEST


@dataclass(frozen=True)
class Label:
    """A label that was understood: its values, and the classes in order if it is ranks.

    Args:
        values: Labels (n,), or several targets (n, p).
        classes: Classes from the lowest rank to the highest; None for a continuous target.
        unused: Ranks that were declared and that no sample has, which are no classes.
    """

    values: NDArray[Any]
    classes: Sequence[object] | None
    unused: Sequence[object] = ()

    @property
    def is_ranks(self) -> bool:
        return self.classes is not None

    def without(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the ranks that none of some rows has."""
        if self.classes is None:
            return []
        present = set(pd.unique(self.values[rows]).tolist())
        absent = [label for label in self.classes if label not in present]
        return [plain_text(label) for label in [*self.unused, *absent]]

    @property
    def task(self) -> Task:
        """The task, as the registry of models has it."""
        return "ranks" if self.is_ranks else "continuous"


def understand_labels(y: "pd.Series[Any] | pd.DataFrame", task: str, order: str | None, name: str) -> Label:
    """Return the label, see :func:`understand_label`; the columns of a table are continuous targets (n, p)."""
    if isinstance(y, pd.Series):
        return understand_label(y, task, order, name)
    columns = [understand_label(y[each], "continuous", None, f"column {each!r}").values for each in y]
    return Label(np.column_stack(columns), None)


def understand_label(y: pd.Series, task: str, order: str | None, name: str, *, most_ranks: int = 20) -> Label:
    """Decide between ranks and a continuous target, or say what is missing to decide.

    Labels (n,) lack no value; ``order`` holds the ranks from lowest to highest, as ``--order`` does. With task
    ``"auto"``, labels of at most ``most_ranks`` distinct whole numbers are ranks.
    """
    y = as_numbers(y.infer_objects())
    if y.nunique() == 1:
        only = y.iloc[0]
        shown = repr(only) if isinstance(only, str) else plain_text(only)
        raise OrdinateError(
            name, problem=f"every row has the one value {shown}", expected="a label that differs between rows"
        )
    if order is not None:
        if task == "continuous":
            raise OrdinateError("--order", problem="is for ranks", expected=f"{argument('task', 'ranks')} or auto")
        return _in_order(y, ranks_in(order), name)
    if pd.api.types.is_datetime64_any_dtype(y):
        raise OrdinateError(name, problem="holds dates", expected="ranks or numbers")
    if isinstance(y.dtype, pd.CategoricalDtype) and y.dtype.ordered:
        if task == "continuous":
            expected = f"{argument('task', 'ranks')} or auto"
            raise OrdinateError(name, problem="holds ordered categories", expected=expected)
        present = set(y)
        classes = [category for category in y.dtype.categories if category in present]
        unused = [category for category in y.dtype.categories if category not in present]
        return Label(np.asarray(y, dtype=object), classes, unused)
    if pd.api.types.is_bool_dtype(y):
        y = y.astype(int)
    if not pd.api.types.is_numeric_dtype(y):
        y = _numbers_of_text(y, name, task, may_have_unit=task == "continuous" or y.nunique() > most_ranks)
    numbers = y.to_numpy(dtype=np.float64)
    if np.abs(numbers).max() > LARGEST:
        raise OrdinateError(name, problem=f"holds infinity or numbers past {LARGEST:g}", expected="smaller ones")
    whole = bool((numbers == np.round(numbers)).all())
    if task == "continuous" or (task == "auto" and not (whole and y.nunique() <= most_ranks)):
        return Label(numbers, None)
    if not whole:
        return Label(numbers, np.unique(numbers).tolist())
    if np.abs(numbers).max() >= 2**53:
        raise OrdinateError(
            name, problem="holds whole numbers above 2^53, which are not distinguished", expected="smaller ones"
        )
    ranks = numbers.astype(np.int64)
    return Label(ranks, np.unique(ranks).tolist())


def _numbers_of_text(y: pd.Series, name: str, task: str, *, may_have_unit: bool) -> pd.Series:
    """Return the numbers that the text of labels is; other text has no order."""
    if may_have_unit:
        y = split_unit(y)[0]
    numbers = pd.to_numeric(y.astype(str), errors="coerce")
    if numbers.notna().all():
        return numbers
    is_odd = numbers.isna().to_numpy()
    if is_odd.mean() <= 0.05 and numbers.nunique() > 20:
        others = ", ".join(map(repr, sorted(set(map(str, y[is_odd])))[:5]))
        problem = f"holds numbers, and {others} in {counted(int(is_odd.sum()), 'row')}"
        raise OrdinateError(name, problem=problem, hint=f"correct it, or {argument('missing')} leaves it out")
    labels = sorted(set(map(str, y)))
    if isinstance(y.dtype, pd.CategoricalDtype):
        labels = [str(label) for label in y.dtype.categories if str(label) in labels]
    problem = order_problem(labels)
    if date_form(y) is not None:
        hint = "a column of days since a date is a number, and can be predicted"
        raise OrdinateError(name, "dates", "ranks or numbers", hint)
    if numbers.notna().any() and known_order(labels) is None:
        odd = sorted(set(map(str, y[numbers.isna()])))
        problem = f"holds numbers and the text {', '.join(map(repr, odd[:5]))}"
        if is_odd.mean() < 0.5:
            hint = f"{argument('missing', ','.join(odd))} leaves these rows out"
            raise OrdinateError(name, problem=problem, hint=hint)
    hint = f"give their order, lowest first, with {order_to_type(labels)}"
    if _labels_by_code(y) and known_order(labels) is None:
        hint = f"the order of their codes is {order_to_type(labels, are_in_order=True)}"
    different = {label.strip().casefold() for label in labels}
    if len(different) < len(labels):
        hint = f"{len(labels) - len(different)} differ from another only in case or spaces: give them one spelling"
    if task == "continuous":
        hint = f"without {argument('task', 'continuous')}, {hint}"
    raise OrdinateError(name, problem=problem, hint=hint)


def _labels_by_code(y: pd.Series) -> dict[str, str]:
    """Return the labels by code, in the order of the codes, if the file has codes; the codes are text."""
    by_column: dict[str, dict[str, str]] = y.attrs.get(CODES, {})
    return by_column.get(str(y.name), {})


def _in_order(y: pd.Series, classes: list[str], name: str) -> Label:
    """Return ranks in the order of classes, which may be the codes of labels."""
    if pd.api.types.is_numeric_dtype(y) and not pd.api.types.is_bool_dtype(y):
        classes = [_plain_number(label) for label in classes]
    text = np.array([plain_text(value) for value in y], dtype=object)
    found = set(text)
    labels = _labels_by_code(y)
    codes = [_plain_number(each) for each in classes]
    if not found.intersection(classes) and set(codes) <= set(labels):
        classes = [labels[code] for code in codes]
    if len(set(classes)) < len(classes):  # Such as 1 and 1.0.
        raise OrdinateError("--order", ",".join(classes), "two or more different ranks")
    unknown = sorted(found - set(classes))
    if unknown:
        shown = [f"{label} ({code})" for code, label in labels.items() if label in unknown] or unknown
        problem = f"{name} also holds {', '.join(shown[:5])}"
        hint = f"if these rows have no label, {argument('missing')} names their values"
        if labels:
            hint = f"it takes labels or codes; {hint}"
        if pd.api.types.is_float_dtype(y) and (y % 1 != 0).any():
            hint = f"numbers are in order without {argument('order')}"
        hint = misspelt_rank(found, classes) or _typing_errors(unknown, classes) or hint
        if {label.casefold() for label in unknown} <= {label.casefold() for label in classes}:
            hint = f"they differ from those of {argument('order')} in capitals only"
        raise OrdinateError("--order", problem=problem, expected="every rank of the data", hint=hint)
    return Label(text, classes)


def _typing_errors(unknown: Sequence[str], classes: Sequence[str]) -> str | None:
    """Return a hint on labels that are nearly a rank; None where one is not."""
    meant = {label: difflib.get_close_matches(label.strip().casefold(), classes, n=1) for label in unknown}
    if not all(meant.values()) or any(label.strip().isdecimal() for label in unknown):
        return None
    return ", ".join(f"{label!r} is nearly {near[0]!r}" for label, near in list(meant.items())[:3])


def _plain_number(text: str) -> str:
    """Return the text of a number as :func:`plain_text` has it, and other text as it is."""
    try:
        return plain_text(float(text))
    except ValueError:
        return text


def parse_boundaries(option: str, given: list[str], classes: Sequence[object] | None) -> dict[tuple[int, int], float]:
    """Turn the ``A,B=NUMBER`` of an option into boundaries between adjacent ranks and their numbers."""
    found: dict[tuple[int, int], float] = {}
    if given and classes is None:
        raise OrdinateError(option, problem="is for ranks, and the label is continuous")
    names = [re.escape(plain_text(label)) for label in classes or []]
    boundaries = [rf"\s*{low}\s*,\s*{high}\s*" for low, high in pairwise(names)]
    for text in given:
        boundary, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise OrdinateError(option, repr(text), "two adjacent ranks and a number above 0, as in 1,2=0.8")
        low = next((place for place, known in enumerate(boundaries) if re.fullmatch(known, boundary)), None)
        if low is None:
            ranks = ", ".join(map(plain_text, classes or []))
            raise OrdinateError(option, repr(boundary), f"two adjacent ranks of {ranks}")
        if (low, low + 1) in found:
            raise OrdinateError(option, f"the boundary {boundary!r} twice", "one number for it")
        found[(low, low + 1)] = number
    return found


def parse_costs(costs: str | None, classes: Sequence[object] | None) -> NDArray[np.float64] | None:
    """Return the cost matrix of the csv ``--costs``; None without one."""
    if costs is None:
        return None
    if classes is None:
        raise OrdinateError("--costs", problem="is for ranks, and the label is continuous")
    return read_costs(costs, list(map(plain_text, classes)))


def parse_decision(
    decision: str | None, costs: NDArray[np.float64] | None, classes: Sequence[object] | None
) -> str | list[list[float]] | None:
    """Return ``--decision``, or the costs as lists if they decide; None without either."""
    if decision is not None and classes is None:
        raise OrdinateError("--decision", problem="is for ranks, and the label is continuous")
    if costs is None:
        return decision
    if decision is not None:
        raise OrdinateError("--decision", f"{decision!r} and {argument('costs')}, which decide", "one of the two")
    matrix: list[list[float]] = costs.tolist()
    return matrix


def costs_of_rules(compared: dict[str, Any] | None) -> pd.DataFrame | None:
    """Return the result of :func:`~ordinate.decisions.compare_decisions` as a table for the report."""
    if compared is None:
        return None
    rules = {"the rank of least expected cost": "least_cost", "the most probable rank": "most_probable"}
    return pd.DataFrame(
        {
            "rule": list(rules),
            "cost per sample": [compared[rule]["expected_cost"] for rule in rules.values()],
            "accuracy": [compared[rule]["accuracy"] for rule in rules.values()],
            "saved per sample": [compared["saving"], 0.0],
            "its standard error": [compared["saving_standard_error"], 0.0],
        }
    )


def note_on_order(ranks: Sequence[object] | None) -> str | None:
    """Return a note on ranks that are numbers and neither rise nor fall, or not in their usual order; None for others.

    Example:
        >>> note_on_order(["mild", "severe", "moderate"])
        'the order of the ranks is the given one, mild < severe < moderate, not the usual one, mild < moderate < severe'
    """
    names = list(map(plain_text, ranks or ()))
    given = " < ".join(names)
    numbers = pd.to_numeric(pd.Series(names, dtype=object), errors="coerce")
    if numbers.isna().any():
        usual = known_order(names)
        if usual is None or names in (usual, usual[::-1]):
            return None
        return f"the order of the ranks is the given one, {given}, {UNUSUAL}, {' < '.join(usual)}"
    if numbers.is_monotonic_increasing or numbers.is_monotonic_decreasing:
        return None
    return f"the ranks are numbers that neither rise nor fall; their order is the given one, {given}"
