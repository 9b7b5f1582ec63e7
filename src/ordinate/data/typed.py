"""What a column of a table is, decided in one place: numbers, ranks, categories or missing.

Files of statistics programs hold codes, labels of some codes, codes that mean missing, and sometimes an order. Readers
of files return these as they are; :func:`typed` turns them into a DataFrame: numbers, ordered categories for ranks,
unordered ones for other labels.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.counts import counted
from ordinate.data.csv_format import MISSING
from ordinate.data.known_scales import known_order
from ordinate.data.no_answer import no_answers_among, says_no_answer
from ordinate.data.numbers import as_label_numbers, as_numbers, plain_text
from ordinate.data.sentinels import sentinel_problem
from ordinate.data.times import are_times
from ordinate.errors import OrdinateError, argument, did_you_mean

# Among the attributes of a DataFrame: descriptions of columns by name, texts whose values are missing in it, and the
# labels by code of its columns of the label, by name.
DESCRIPTIONS, LEFT_OUT, CODES = "descriptions", "left out", "codes"


@dataclass(frozen=True)
class Declared:
    """What a file says of a column in addition to its values.

    Args:
        labels: Labels by code.
        missing: Codes declared as missing: pairs of the lowest and the highest, both included, or texts.
        is_amount: Whether the file says that the codes are amounts.
        description: What the column is, in the words of the file.
    """

    labels: Mapping[Any, str] = field(default_factory=dict)
    missing: tuple[tuple[Any, Any], ...] = ()
    is_amount: bool = False
    description: str = ""


@dataclass(frozen=True)
class Reading:
    """How the columns of a table are understood, where the file leaves it open or the user knows better.

    Args:
        missing: Texts of values, codes or labels that mean missing, in every column; ``"column=value"`` names those of
            one column.
        keep_missing: Whether codes that are declared missing, and labels such as "refused", are values.
        targets: Columns of the label.
        order: Ranks of the label from the lowest to the highest; none of them is missing.
        numbers: Columns whose codes are the numbers, whatever their labels.
        labels: Columns whose labels are the values, however few of their codes have one.
        drop: Columns that are not read.

    Example:
        >>> Reading(missing=("-9", "refused")).missing
        ('-9', 'refused')
    """

    missing: tuple[str, ...] = ()
    keep_missing: bool = False
    targets: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    drop: tuple[str, ...] = ()

    @property
    def ranks(self) -> dict[str, tuple[str, ...]]:
        """The ranks of columns of the label, none of which is missing, by the name of the column."""
        return dict.fromkeys(self.targets, self.order) if self.order else {}


@dataclass
class ColumnFindings:
    """What was found in the columns of a table, for notes.

    Args:
        missing: Rows by the value that is missing in them, of each column.
        named: Number of rows, of each column, that hold a value that the user names as missing.
        scales: Labels of codes, of each column of the label that is a number.
        far: What is said of labelled codes of the label that are far from the others.
        unmatched: Texts that the user names as missing, and no value is.
        codes: Labels by code, in the order of the codes, of each column of the label that has them.
    """

    missing: dict[str, Counter[str]] = field(default_factory=dict)
    named: Counter[str] = field(default_factory=Counter)
    scales: dict[str, dict[str, str]] = field(default_factory=dict)
    far: str | None = None
    unmatched: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def notes(self, reading: Reading, most: int = 3) -> list[str]:
        """Return one note on values that were read as missing, and one on labels of the codes of the target."""
        notes = []
        if self.missing:
            first = [name for name in self.missing if name in reading.targets]
            named = [*first, *(name for name in self.missing if name not in first)]
            parts = [f"{name}: {_counts(self.missing[name])}" for name in named[:most]]
            if len(named) > most:
                others: Counter[str] = sum((self.missing[name] for name in named[most:]), Counter())
                columns = counted(len(named) - most, "other column")
                parts.append(f"{columns}: {_counts(others)}")
            keep = argument("keep_missing", True)
            notes.append(f"read as missing in {'; '.join(parts)} ({keep} reads them as values)")
        if self.named:
            listed = ", ".join(f"{name} in {counted(count, 'row')}" for name, count in self.named.most_common(most))
            more = f", and {counted(len(self.named) - most, 'more column')}" if len(self.named) > most else ""
            notes.append(f"values that {argument('missing')} names are missing in {listed}{more}")
        if self.unmatched:
            notes.append(note_on_unmatched(self.unmatched))
        if self.far is not None and not self.scales:  # Of numbers it is said later.
            notes.append(f"the label {self.far}; if these codes mean missing labels, {argument('missing')} names them")
        for name, labels in self.scales.items():
            listed = ", ".join(f"{code} = {label}" for code, label in labels.items())
            notes.append(f"the codes of {name!r} are its values: {listed}")
        return notes


def typed(
    frame: pd.DataFrame,
    declared: Mapping[str, Declared],
    reading: Reading = Reading(),
    names: Collection[str] | None = None,
) -> tuple[pd.DataFrame, ColumnFindings]:
    """Return a table with its columns as numbers, ordered and unordered categories, and what was found in them.

    Args:
        frame: Values or codes (n, columns).
        declared: What the file says of columns, by name.
        reading: What the user or a model says of them.
        names: All columns of the file; None if these are all.

    Raises:
        OrdinateError: A value is named as missing in a column that the file to train on does not have.

    Example:
        >>> codes = pd.DataFrame({"health": [1.0, 3.0, -9.0, 2.0]})
        >>> said = Declared({1: "poor", 2: "fair", 3: "good", -9: "Refused"})
        >>> table, found = typed(codes, {"health": said})
        >>> table["health"].tolist(), found.missing["health"]
        (['poor', 'good', nan, 'fair'], Counter({'-9 (Refused)': 1}))
    """
    found = ColumnFindings(unmatched=[text for text in reading.missing if text not in MISSING])
    columns = {}
    is_as_given = True
    for name in frame.columns:
        values = given = frame[name]
        said = declared.get(name)
        found.unmatched = [text for text in found.unmatched if not _occurs(text, values, said)]
        if said is not None and not are_times(values):
            values = _of_codes(values, said, reading, found)
        if reading.missing:
            before = values.notna().sum()
            values = without_missing(values, reading.missing)
            if named := int(before - values.notna().sum()):
                found.named[str(name)] += named
        if name in reading.targets:
            values = _of_target(values, reading, found)
        is_as_given &= values is given
        columns[name] = values
    if reading.targets:  # Later files may lack columns that were left out in training.
        require_columns_of(found.unmatched, frame.columns if names is None else names)
    table = frame.copy(deep=False)
    if not is_as_given:
        table = pd.DataFrame(columns, columns=frame.columns, index=frame.index)
    descriptions = {name: said.description for name, said in declared.items() if said.description}
    if descriptions:
        table.attrs[DESCRIPTIONS] = descriptions
    if found.codes:
        table.attrs[CODES] = found.codes
    if reading.missing:
        table.attrs[LEFT_OUT] = list(reading.missing)
    return table, found


def without_missing(values: pd.Series, missing: tuple[str, ...]) -> pd.Series:
    """Return a column with NaN where its value is one of some texts, or the number that such a text is.

    Example:
        >>> without_missing(pd.Series([1, 98, 2, 99]), ("98", "99")).tolist()
        [1.0, nan, 2.0, nan]
        >>> without_missing(pd.Series(["low", "refused "]), ("refused",)).tolist()
        ['low', nan]
    """
    if not missing:
        return values
    texts, numbers = _named_for(str(values.name), missing)
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype):
        at = values.isin(numbers)
        return values.mask(at) if at.any() else values
    different = values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else pd.unique(values.dropna())
    gone = [each for each in different if _is_named(each, texts, numbers)]
    if not gone:
        return values
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.remove_categories(gone)
    return as_numbers(values.mask(values.isin(gone)))


def require_columns_of(missing: Collection[str], columns: Collection[str]) -> None:
    """Raise an error if a text that no value is names a column, as ``"column=value"``, that is none of these."""
    names = list(map(str, columns))
    for text in missing:
        name, equals, _ = text.partition("=")
        if equals and not any(text.startswith(f"{known}=") for known in names):
            expected = "a value, or COLUMN=VALUE with a column of the data"
            raise OrdinateError("missing", repr(text), expected, did_you_mean(name, names))


def note_on_unmatched(missing: Collection[str]) -> str:
    """Return the note on texts that are named as missing, and no value is."""
    return f"no value is {' or '.join(map(repr, missing))}, named as missing"


def _occurs(text: str, values: pd.Series, said: Declared | None) -> bool:
    """Return whether a value, a code or a label of a column is the one that a text names as missing."""
    labels = {} if said is None else {_code(code): " ".join(str(label).split()) for code, label in said.labels.items()}
    if _named_codes(str(values.name), [], labels, Reading(missing=(text,))):
        return True
    return without_missing(values, (text,)) is not values


def _of_codes(values: pd.Series, said: Declared, reading: Reading, found: ColumnFindings) -> pd.Series:
    """Return a column of codes, some of which may have labels, as what it is."""
    name = str(values.name)
    labels = {_code(code): " ".join(str(label).split()) for code, label in said.labels.items()}
    labels = {code: label for code, label in labels.items() if label != plain_text(code)}
    different = [_code(code) for code in pd.unique(values.dropna())]
    named = _named_codes(name, different, labels, reading)
    gone = named | _missing_codes(name, different, labels, said, reading, named)
    if gone:
        values = _without(values, different, gone, named, labels, name, found)
        different = [code for code in different if code not in gone]
    labels = {code: label for code, label in labels.items() if code not in gone}
    are_numbers = all(isinstance(code, float) for code in (*different, *labels))
    if labels and are_numbers and name in reading.targets and not reading.order:
        found.far = sentinel_problem(pd.Series(_codes(values)))
    if not labels or (are_numbers and _is_number_column(name, different, labels, said, reading)):
        shown = {plain_text(code): label for code, label in labels.items()}
        if shown and name in reading.targets:
            found.scales[name] = shown
        return _whole(values)
    return _categories(values, different, labels, name, found if name in reading.targets else None)


def _named_codes(name: str, different: list[Any], labels: Mapping[Any, str], reading: Reading) -> set[Any]:
    """Return the codes of a column, with or without a label, that the user names as missing."""
    texts, numbers = _named_for(name, reading.missing)
    return {code for code in (*labels, *different) if _is_named(code, texts, numbers) or labels.get(code) in texts}


def _missing_codes(
    name: str, different: list[Any], labels: Mapping[Any, str], said: Declared, reading: Reading, named: set[Any]
) -> set[Any]:
    """Return the codes of a column that the file declares as missing, or whose labels say so."""
    if reading.keep_missing:
        return set()
    ranks = set(reading.order) if name in reading.targets else set()
    by_word = {code for code, label in labels.items() if says_no_answer(label, is_negative=_is_negative(code))}
    gone = named | {
        code
        for code in (*labels, *different)
        if any(_is_within(code, *ends) for ends in said.missing) and not {labels.get(code), plain_text(code)} & ranks
    }
    by_word = {code for code in by_word if not {labels[code], plain_text(code)} & ranks}
    if len(set(different) - gone - by_word) < 2 <= len(set(different) - gone):
        return gone  # A column of "accepted" and "refused" has an answer in every row.
    return gone | by_word


def _without(
    values: pd.Series,
    different: list[Any],
    gone: set[Any],
    named: set[Any],
    labels: Mapping[Any, str],
    name: str,
    found: ColumnFindings,
) -> pd.Series:
    """Return a column with NaN at missing codes, which are counted."""
    codes = _codes(values)
    counts: Counter[str] = Counter()
    at = np.zeros(len(values), dtype=bool)
    for code in different:
        if code not in gone:
            continue
        here = codes == code
        at |= here
        if code in named:
            found.named[name] += int(here.sum())
            continue
        label = labels.get(code)
        shown = plain_text(code)
        if label is not None:  # Many labels begin with their code.
            shown = label if shown in label else f"{shown} ({label})"
        counts[shown] += int(here.sum())
    if counts:
        found.missing[name] = counts
    return values.mask(at)


def _is_number_column(
    name: str, different: list[Any], labels: Mapping[Any, str], said: Declared, reading: Reading
) -> bool:
    """Return whether labelled codes are numbers, as most of those that occur have no label, or it is known."""
    if name in reading.numbers:
        return True
    if name in reading.labels:
        return False
    unlabelled = [code for code in different if code not in labels]
    if not unlabelled:
        return False
    if said.is_amount or len(unlabelled) == len(different):
        return True
    # Ends and middle of a scale may have labels, as one of many codes such as "90 or older" may.
    return 2 * len(unlabelled) >= len(labels) or any(code % 1 for code in different)


def _categories(
    values: pd.Series, different: list[Any], labels: Mapping[Any, str], name: str, found: ColumnFindings | None
) -> pd.Series:
    """Return codes as the categories of their labels: ranks where their order says more than the alphabet.

    ``found`` gets the labels of the codes.
    """
    codes = sorted({*labels, *different}, key=lambda code: (isinstance(code, str), code))
    texts = [labels.get(code, plain_text(code)) for code in codes]
    twice = {text for text, count in Counter(texts).items() if count > 1}
    names = [f"{text} ({plain_text(code)})" if text in twice else text for code, text in zip(codes, texts, strict=True)]
    are_numbers = all(isinstance(code, float) for code in codes)
    ordered = are_numbers and says_more_than_the_alphabet(texts)
    if found is not None and are_numbers:
        found.codes[name] = dict(zip(map(plain_text, codes), names, strict=True))
    place = {code: index for index, code in enumerate(codes)}
    at = np.array([place[code] for code in different] + [-1], dtype=np.int64)
    held = _codes(values)
    inverse = pd.Index(different).get_indexer(held) if different else np.full(len(values), -1)
    ranks = pd.Categorical.from_codes(at[inverse], categories=pd.Index(names, dtype=object), ordered=ordered)
    return pd.Series(ranks, index=values.index, name=name)


def says_more_than_the_alphabet(labels: list[str]) -> bool:
    """Return whether somebody chose the order of labels: it is not that of the alphabet, or that of a known scale.

    Stata's ``encode``, pandas and others number text along the alphabet.

    Example:
        >>> says_more_than_the_alphabet(["low", "high"]), says_more_than_the_alphabet(["high", "low", "medium"])
        (True, False)
        >>> says_more_than_the_alphabet(["Stage I", "Stage II"]), says_more_than_the_alphabet(["no", "yes"])
        (True, True)
    """
    if labels != sorted(labels) and labels != sorted(labels, key=str.casefold):
        return True
    return known_order(labels) == labels


def _of_target(values: pd.Series, reading: Reading, found: ColumnFindings) -> pd.Series:
    """Return labels without those that say that there is no answer; they are counted."""
    is_category = isinstance(values.dtype, pd.CategoricalDtype)
    if not is_category and _is_text(values):
        bare = values.map(lambda each: each.strip() if isinstance(each, str) else each)
        values = values if bare.equals(values) else bare
    if reading.keep_missing or not (is_category or _is_text(values)):
        return values
    held = values.cat.categories if is_category else pd.unique(values.dropna())
    codes = found.codes.get(str(values.name), {})
    ranks = {*reading.order, *(codes[rank] for rank in reading.order if rank in codes)}
    gone = no_answers_among([each for each in held if isinstance(each, str)]) - ranks
    counts = values[values.isin(gone)].value_counts()
    counts = counts[counts > 0]
    if not len(counts) or values.nunique() - len(counts) < 2:
        return as_label_numbers(values)
    of_target = found.missing.setdefault(str(values.name), Counter())
    of_target.update({str(text): int(count) for text, count in counts.items()})
    if is_category:
        return values.cat.remove_categories(list(gone))
    return as_label_numbers(values.mask(values.isin(gone)))


def _named_for(name: str, missing: tuple[str, ...]) -> tuple[set[str], set[float]]:
    """Return the texts that mean missing in a column, and the numbers that some of them are."""
    texts = {text.strip() for text in missing} | {text.removeprefix(f"{name}=").strip() for text in missing}
    return texts, {float(text) for text in texts if _is_number(text)}


def _counts(counts: Counter[str], most: int = 5) -> str:
    listed = [f"{value} in {count}" for value, count in counts.most_common(most)]
    if len(counts) > most:
        listed.append(f"{len(counts) - most} more")
    return f"{', '.join(listed)} {'row' if sum(counts.values()) == 1 else 'rows'}"


def _code(code: Any) -> float | str:
    """Return a code as a float, also where it is the text of a number, or as text."""
    if not isinstance(code, str):
        return float(code)
    text = code.strip()
    if _is_number(text) and not _has_leading_zero(text):
        return float(text)
    return text


def _codes(values: pd.Series) -> NDArray[Any]:
    """Return the codes (n,) of a column as :func:`_code` does, NaN where it is missing."""
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    places, different = pd.factorize(values)
    codes = np.array([*map(_code, different), np.nan], dtype=object)
    return codes[places]  # A missing value has the place -1, which is the last one.


def _whole(values: pd.Series) -> pd.Series:
    """Return numbers as integers where all are whole and none is missing; statistics programs have no integers."""
    if not pd.api.types.is_float_dtype(values.dtype):
        return as_numbers(values)
    numbers = values.to_numpy()
    if (
        len(numbers)
        and np.isfinite(numbers).all()
        and (numbers == np.round(numbers)).all()
        and np.abs(numbers).max() < 2**53
    ):
        return values.astype(np.int64)
    return values


def _is_named(value: object, texts: set[str], numbers: set[float]) -> bool:
    if isinstance(value, str):
        text = value.strip()
        return text in texts or (_is_number(text) and float(text) in numbers)
    return isinstance(value, int | float | np.number) and float(value) in numbers


def _is_within(code: Any, low: Any, high: Any) -> bool:
    if isinstance(code, str) or isinstance(low, str):
        return code == low
    return bool(low <= code <= high)


def _is_negative(code: Any) -> bool:
    return isinstance(code, float) and code < 0


def _is_text(values: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(values.dtype) or isinstance(values.dtype, pd.StringDtype)


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text)).item()
    except ValueError:
        return False


def _has_leading_zero(text: str) -> bool:
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()
