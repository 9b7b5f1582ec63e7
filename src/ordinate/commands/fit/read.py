"""The first stage of ``ordinate fit``: from a path or a name to labelled samples."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ordinate.commands.early_checks import LEAST_ROWS
from ordinate.commands.fit_options import FitOptions, names_in, ranks_in
from ordinate.commands.options import flag
from ordinate.commands.samples import (
    LabelledData,
    decode,
    leave_out_row_columns,
    modality_of_data,
    named_sets,
    open_samples,
    read_named,
    text_columns,
    with_preprocessing,
)
from ordinate.commands.settings import parameters
from ordinate.counts import counted
from ordinate.data.modality import Modality, Request
from ordinate.data.registry import modalities, modality_of
from ordinate.data.typed import Reading
from ordinate.errors import OrdinateError


def request_of(options: FitOptions, say: Callable[[str], None] = print) -> Request:
    """Return how the options have a labelled data set read; ``say`` gets notes."""
    return Request(
        next(iter(options.targets), None), options.split, options.group, options.weight, how=_reading(options),
        drop=tuple(names_in(options.drop)), categorical=tuple(names_in(options.categorical)),
        skip_unreadable=options.skip_unreadable, progress=not options.quiet, say=say,
        more_targets=tuple(options.targets[1:]),
    )  # fmt: skip


def _reading(options: FitOptions) -> Reading:
    """Return what the options, and a recipe, say of the columns of a table."""
    missing = (*options.of_recipe("tables").get("missing", ()), *options.missing_values)
    order = () if options.order is None else tuple(ranks_in(options.order))
    numbers = options.targets if options.task == "continuous" else ()
    return Reading(
        tuple(map(str, missing)), options.keep_missing, tuple(options.targets), order, numbers=frozenset(numbers)
    )


def data_options(options: FitOptions, modality: Modality) -> Any:
    """Return the options of a kind of data; None if it has none."""
    declared = modality.options_class
    if declared is None:
        return None
    how = _reading(options)
    flags = {"stream": options.stream, "missing": how.missing, "keep_missing": how.keep_missing}
    known = parameters(declared)
    given = {name: value for name, value in flags.items() if value and name in known}
    return options.settings.build(declared, "data", **{**options.of_recipe(modality.parameter), **given})


def read(options: FitOptions, opened: LabelledData | None = None, *, least_rows: int = LEAST_ROWS) -> LabelledData:
    """Return the samples to train and to measure on; those that are ``opened`` are decoded, None opens them."""
    request = request_of(options)
    samples = decode_files(options, request, opened or open_labelled(options, request))
    if len(samples.y) < least_rows:
        expected = f"at least {least_rows} to train and to measure on"
        raise OrdinateError(options.data, problem=f"holds {counted(len(samples.y), 'row')}", expected=expected)
    if samples.splits is not None and options.test_fraction is not None:
        raise OrdinateError("--test-fraction", f"{options.test_fraction}, and {options.data} has a split of its own")
    if samples.splits is not None and samples.groups is not None:
        sides = samples.splits.groupby(samples.groups.to_numpy()).nunique()
        across = int((sides > 1).sum())
        if across:
            print(f"note: {across:,} of {counted(len(sides), 'group')} are in more than one part of the split")
    return samples


def open_labelled(options: FitOptions, request: Request) -> LabelledData:
    """Return the samples, however many; images and the like are still to be decoded."""
    data_sets = named_sets(options.data, "holds_others")
    if data_sets is None:
        return _with_preprocessing(options, request, _opened(options, request))
    folder = data_sets.folder(options.data)
    if folder is not None:  # It is read as any folder of its kind.
        return open_labelled(replace(options, data=folder), request)
    for name in ("drop", "keep", "categorical", "skip_unreadable", "stream"):
        _refuse(options, name, "is a data set with its own columns and split")
    samples = read_named(data_sets, options.data, request)
    return _with_preprocessing(options, request, _of_file(options, request, samples))


def decode_files(options: FitOptions, request: Request, samples: LabelledData) -> LabelledData:
    """Return opened samples with files of images and the like read."""
    return decode(samples, options.data, request, data_options(options, samples.modality))


def _with_preprocessing(options: FitOptions, request: Request, samples: LabelledData) -> LabelledData:
    return with_preprocessing(samples, data_options(options, samples.modality), request.say)


def _opened(options: FitOptions, request: Request) -> LabelledData:
    of_columns = options.drop or options.keep or options.categorical or options.text
    modality = modality_of_data(options.data, as_table=bool(of_columns))
    if not modality.holds_arrays:
        _check_modality(options, modality)
        return open_samples(options.data, request, modality)
    samples = open_samples(options.data, request, modality)
    if not options.text:
        samples = leave_out_row_columns(samples, names_in(options.keep), options.data, request.say)
    return _of_file(options, request, samples)


def _of_file(options: FitOptions, request: Request, samples: LabelledData) -> LabelledData:
    """Return the samples of a file, which may hold any kind of data."""
    if options.text:
        samples = text_columns(samples, options.text, options.data, request.say)
    _refuse(options, "skip_unreadable", "is one file")
    _check_modality(options, modality_of(samples.X), samples.modality)
    return samples


def _check_modality(options: FitOptions, modality: Modality, read_as: Modality | None = None) -> None:
    """Raise an error for an option, or a setting, of other kinds of data, which would do nothing.

    Args:
        options: Options of the command.
        modality: The kind of data in the file.
        read_as: The kind that the samples are read as, if that is another one.
    """
    for name in dict.fromkeys(name for known in modalities() for name in known.command_options):
        if name not in modality.command_options:
            kinds = [known.noun for known in modalities() if name in known.command_options]
            _refuse(options, name, f"holds {modality.noun}", f"is for {' or '.join(kinds)}")
    declared = _options_of(read_as or modality)
    for name in options.settings.names("data"):
        if name not in declared:
            kinds = [known.noun for known in modalities() if name in _options_of(known)]
            problem = f"is for {' or '.join(kinds)}, and {options.data} holds {modality.noun}"
            raise OrdinateError(options.settings.source(f"data.{name}"), problem=problem)


def _options_of(modality: Modality) -> list[str]:
    if modality.options_class is None:
        return []
    return parameters(modality.options_class)


def _refuse(options: FitOptions, name: str, held: str, purpose: str | None = None) -> None:
    """Raise an error if an option is given that the data have no use for."""
    value = getattr(options, name)
    if value:  # The default of each is false.
        problem = purpose or f"got {value!r}"
        raise OrdinateError(flag(name), problem=f"{problem}, and {options.data} {held}")
