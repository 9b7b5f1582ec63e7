"""The first stage of ``ordinate fit``: from a path or a name to labelled samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from ordinate.commands.early_checks import LEAST_ROWS
from ordinate.commands.fit.image_plan import ImagePlan, ImagePlanner
from ordinate.commands.fit_options import FitOptions, names_in, ranks_in
from ordinate.commands.options import ParsedOptions, flag
from ordinate.commands.samples import (
    Samples,
    SizeFor,
    decode_array,
    leave_out_row_columns,
    modality_of_data,
    named_sets,
    read_named,
    read_samples,
    text_columns,
)
from ordinate.commands.settings import Settings, parameters
from ordinate.counts import counted
from ordinate.data.modality import Modality, Request
from ordinate.data.registry import modalities, modality_of
from ordinate.data.typed import Reading
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class Source:
    """Data to read, and the options for reading them.

    Args:
        data: Path, or name of a data set.
        request: Request for columns and other parts of the data.
        settings: Settings of the options of the kind of data, in the group ``data``.
        given: Options that were given, by name, of which those that the data have no use for are errors.
        recipe: Settings of a recipe, whose options of the kind of data apply.
        keep: Columns to train on although they identify the rows.
        text: Columns to read as text.
    """

    data: str
    request: Request
    settings: Settings
    given: ParsedOptions
    recipe: Mapping[str, Any]
    keep: Sequence[str] = ()
    text: Sequence[str] = ()

    @classmethod
    def of(cls, options: FitOptions, recipe: Mapping[str, Any] | None = None) -> Self:
        """Return the data that the options of a command name; ``recipe`` are the settings of a recipe."""
        target = next(iter(options.targets), None)
        request = Request(
            target, options.split, options.group, options.weight, tuple(names_in(options.drop)),
            tuple(names_in(options.categorical)), options.fold, options.skip_unreadable,
            progress=not options.quiet, more_targets=tuple(options.targets[1:]), how=_reading(options, recipe or {}),
        )  # fmt: skip
        return cls(
            options.data, request, options.settings, options.given, recipe or {}, names_in(options.keep), options.text
        )

    def options_of(self, modality: Modality) -> Any:
        """Return the options of a kind of data; None if it has none."""
        declared = modality.options_class
        if declared is None:
            return None
        others = dict(self.recipe.get(modality.parameter, {}))
        if "stream" in self.given and "stream" in parameters(declared):
            others["stream"] = True
        if self.request.how.missing and "missing" in parameters(declared):
            others["missing"] = self.request.how.missing
        if self.request.how.keep_missing and "keep_missing" in parameters(declared):
            others["keep_missing"] = True
        return self.settings.build(declared, "data", **others)

    def params(self, modality: Modality, *, quiet: bool, seed: int) -> dict[str, Any]:
        """Return the parameters of an estimator for a kind of data, besides those of its method."""
        params: dict[str, Any] = {"random_state": seed, "verbose": int(not quiet)}
        options = self.options_of(modality)
        if options is not None:
            params["data"] = options
        return params


def _reading(options: FitOptions, recipe: Mapping[str, Any]) -> Reading:
    """Return what the options, and a recipe, say of the columns of a table."""
    missing = (*recipe.get("tables", {}).get("missing", ()), *options.missing_values)
    order = () if options.order is None else tuple(ranks_in(options.order))
    numbers = options.targets if options.task == "continuous" else ()
    return Reading(
        tuple(map(str, missing)), options.keep_missing, tuple(options.targets), order, numbers=frozenset(numbers)
    )


@dataclass(frozen=True)
class Data:
    """Labelled samples, and the plan of a training on images by which they were read; None without any."""

    samples: Samples
    plan: ImagePlan | None


def read(source: Source, planner: ImagePlanner | None, *, least_rows: int = LEAST_ROWS) -> Data:
    """Return the samples, with files of images and the like read; ``planner`` chooses the size of images."""
    samples = read_source(source, None if planner is None else planner.size_for)
    plan = None
    if planner is not None and samples.modality.plans_training:
        # Images of files were planned when they were read; those of an array are not resized.
        plan = planner.plan(samples.y, samples.splits, samples.X.preprocessing)
    if len(samples.y) < least_rows:
        expected = f"at least {least_rows} to train and to measure on"
        raise OrdinateError(source.data, problem=f"holds {counted(len(samples.y), 'row')}", expected=expected)
    if samples.splits is not None and "test_fraction" in source.given:
        share = source.given["test_fraction"]
        raise OrdinateError("--test-fraction", f"{share}, and {source.data} has a split of its own")
    if samples.splits is not None and samples.groups is not None:
        sides = samples.splits.groupby(samples.groups.to_numpy()).nunique()
        across = int((sides > 1).sum())
        if across:
            print(f"note: {across:,} of {counted(len(sides), 'group')} are in more than one part of the split")
    return Data(samples, plan)


def read_source(source: Source, size_for: SizeFor | None = None) -> Samples:
    """Return the samples, however many; ``size_for`` chooses the size of images, see :func:`read_samples`."""
    data_sets = named_sets(source.data, "holds_others")
    if data_sets is not None:
        folder = data_sets.folder(source.data)
        if folder is None:
            for name in ("drop", "keep", "categorical", "skip_unreadable", "fold", "stream"):
                _refuse(source, name, "is a data set with its own columns and split")
            return _of_file(source, read_named(data_sets, source.data, source.request))
        source = replace(source, data=folder)  # It is read as any folder of its kind.
    modality = modality_of_data(source.data)
    if not modality.holds_arrays:
        _check_modality(source, modality)
        return read_samples(source.data, source.request, source.options_of, size_for)
    samples = read_samples(source.data, source.request, source.options_of)
    if not source.text:
        samples = leave_out_row_columns(samples, source.keep, source.data, source.request.say)
    return _of_file(source, samples)


def _of_file(source: Source, samples: Samples) -> Samples:
    """Return the samples of a file, which may hold any kind of data."""
    if source.text:
        samples = text_columns(samples, source.text, source.data, source.request.say)
    for name in ("fold", "skip_unreadable"):
        _refuse(source, name, "is one file")
    _check_modality(source, modality_of(samples.X), samples.modality)
    return decode_array(samples, source.request, source.options_of)


def _check_modality(source: Source, modality: Modality, read_as: Modality | None = None) -> None:
    """Raise an error for an option, or a setting, of other kinds of data, which would do nothing.

    Args:
        source: The data and the options.
        modality: The kind of data in the file.
        read_as: The kind that the samples are read as, if that is another one.
    """
    for name in dict.fromkeys(name for known in modalities() for name in known.command_options):
        if name not in modality.command_options:
            kinds = [known.noun for known in modalities() if name in known.command_options]
            _refuse(source, name, f"holds {modality.noun}", f"is for {' or '.join(kinds)}")
    declared = _options_of(read_as or modality)
    for name in source.settings.names("data"):
        if name not in declared:
            kinds = [known.noun for known in modalities() if name in _options_of(known)]
            problem = f"is for {' or '.join(kinds)}, and {source.data} holds {modality.noun}"
            raise OrdinateError(source.settings.source(f"data.{name}"), problem=problem)


def _options_of(modality: Modality) -> list[str]:
    if modality.options_class is None:
        return []
    return parameters(modality.options_class)


def _refuse(source: Source, name: str, held: str, purpose: str | None = None) -> None:
    """Raise an error if an option is given that the data have no use for."""
    if name in source.given:
        problem = purpose or f"got {source.given[name]!r}"
        raise OrdinateError(flag(name), problem=f"{problem}, and {source.data} {held}")
