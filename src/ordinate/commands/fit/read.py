"""The first stage of ``ordinate fit``: from a path or a name to labelled samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from ordinate.commands.fit.image_plan import ImagePlan, ImagePlanner
from ordinate.commands.fit_options import FitOptions, names_in
from ordinate.commands.options import flag
from ordinate.commands.samples import (
    Samples,
    SizeFor,
    decode_array,
    is_named,
    leave_out_row_columns,
    modality_of_data,
    named_folder,
    read_named,
    read_samples,
    text_columns,
)
from ordinate.commands.settings import Settings, parameters
from ordinate.data.modality import Modality, Request
from ordinate.data.registry import modalities, modality_of
from ordinate.data.tables.parquet_table import holds_parquet
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
        all_columns: Whether columns that identify the rows are kept.
    """

    data: str
    request: Request
    settings: Settings
    given: Mapping[str, Any]
    recipe: Mapping[str, Any]
    keep: Sequence[str] = ()
    text: Sequence[str] = ()
    all_columns: bool = False

    @classmethod
    def of(cls, options: FitOptions, recipe: Mapping[str, Any] | None = None) -> Self:
        """Return the data that the options of a command name; ``recipe`` are the settings of a recipe."""
        target = options.targets[0] if options.targets else None
        request = Request(
            target, options.split, options.group, options.weight, tuple(names_in(options.drop)),
            tuple(names_in(options.categorical)), options.fold, options.stream, options.skip_unreadable,
            progress=not options.quiet, drop_unlabelled=options.unlabelled == "drop",
            more_targets=tuple(options.targets[1:]),
        )  # fmt: skip
        return cls(
            options.data, request, options.settings, options.given, recipe or {}, names_in(options.keep), options.text
        )

    def options_of(self, modality: Modality) -> Any:
        """Return the options of a kind of data; None if it has none."""
        declared: type[Any] | None = modality.options_class
        if declared is None:
            return None
        others = dict(self.recipe.get(modality.parameter, {}))
        for name in ("stream", "skip_unreadable"):
            if name in self.given and name in parameters(declared):
                others[name] = True
        return self.settings.build(declared, "data", others)


@dataclass(frozen=True)
class Data:
    """Labelled samples, and the plan of a training on images by which they were read; None without any."""

    samples: Samples
    plan: ImagePlan | None


def read(source: Source, planner: ImagePlanner | None, *, least_rows: int = 10) -> Data:
    """Return the samples, with files of images and the like read; ``planner`` chooses the size of images."""
    plans: list[ImagePlan] = []

    def size_for(preprocessing: Any, labels: Any, seconds: float, own: tuple[int, int]) -> tuple[int, int]:
        assert planner is not None  # noqa: S101  # Nothing calls the function otherwise.
        plans.append(planner.plan(preprocessing, labels, seconds, own))
        return plans[-1].size

    samples = read_source(source, None if planner is None else size_for)
    if planner is not None and samples.modality.plans_training and not plans:
        # Images of an array are not resized.
        plans.append(planner.plan(samples.X.preprocessing, samples.y))
    if len(samples.y) < least_rows:
        expected = f"at least {least_rows} to train and to measure on"
        raise OrdinateError(source.data, problem=f"holds {len(samples.y)} rows", expected=expected)
    if samples.splits is not None and "test_fraction" in source.given:
        share = source.given["test_fraction"]
        raise OrdinateError("--test-fraction", f"{share}, and {source.data} has a split of its own")
    if samples.splits is not None and samples.groups is not None:
        sides = samples.splits.groupby(samples.groups.to_numpy()).nunique()
        across = int((sides > 1).sum())
        if across:
            print(f"note: {across} of {len(sides)} groups are in more than one part of the split")
    return Data(samples, plans[-1] if plans else None)


def read_source(source: Source, size_for: SizeFor | None = None) -> Samples:
    """Return the samples, however many; ``size_for`` chooses the size of images, see :func:`read_samples`."""
    if is_named(source.data):
        folder = named_folder(source.data)
        if folder is None:
            return _read_named(source)
        source = replace(source, data=folder)
    modality = modality_of_data(source.data)
    if not modality.holds_arrays:
        _check_modality(source, modality)
        return read_samples(source.data, source.request, source.options_of, size_for)
    if not holds_parquet(source.data):
        _refuse(source, "stream", "is in another format", "is for parquet files, images and volumes")
    samples = read_samples(source.data, source.request, source.options_of)
    if source.text:
        samples = text_columns(samples, source.text, source.data, source.request.say)
    elif not source.all_columns:
        samples = leave_out_row_columns(samples, source.keep, source.data, source.request.say)
    return _of_file(source, samples)


def _read_named(source: Source) -> Samples:
    """Return the samples of a data set of the papers that is no folder of its kind."""
    for name in ("drop", "keep", "categorical", "skip_unreadable", "fold", "stream"):
        _refuse(source, name, "is a data set with its own columns and split")
    samples = read_named(source.data, source.request)
    if source.text:
        samples = text_columns(samples, source.text, source.data, source.request.say)
    return _of_file(source, samples)


def _of_file(source: Source, samples: Samples) -> Samples:
    """Return the samples of a file, which may hold any kind of data."""
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
    declared = (read_as or modality).options_class
    for name in source.settings.names("data"):
        if declared is None or name not in parameters(declared):
            kinds = [known.noun for known in modalities() if _has_option(known, name)]
            problem = f"is for {' or '.join(kinds)}, and {source.data} holds {modality.noun}"
            raise OrdinateError(source.settings.source(f"data.{name}"), problem=problem)


def _has_option(modality: Modality, name: str) -> bool:
    return modality.options_class is not None and name in parameters(modality.options_class)


def _refuse(source: Source, name: str, held: str, purpose: str | None = None) -> None:
    """Raise an error if an option is given that the data have no use for."""
    if name in source.given:
        problem = purpose or f"got {source.given[name]!r}"
        raise OrdinateError(flag(name), problem=f"{problem}, and {source.data} {held}")
