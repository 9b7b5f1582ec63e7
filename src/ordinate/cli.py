"""The command ``ordinate``: parses arguments, and turns an error that a user can fix into one line and exit code 2.

Nothing heavy is imported before a command runs, so that help and errors come at once.
"""

import argparse
import logging
import os
import re
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any, NoReturn

from ordinate.commands.catalogue import COMMANDS, CSV_FORMAT, Command
from ordinate.commands.config_file import read_config
from ordinate.commands.endings import DEBUG, STOPPED, TERMINATED, say_failure, say_stopped, sigterm_stops, unread
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.options import ParsedOptions, flag, in_options, labels_text
from ordinate.commands.split_file import read_split
from ordinate.commands.table_file import STDOUT, only_table_on_stdout
from ordinate.data.csv_format import Given, csv_given
from ordinate.errors import OrdinateError, did_you_mean
from ordinate.extensions import extensions, load_object
from ordinate.optional import optional
from ordinate.torchrun import is_first_process
from ordinate.version import __version__

MEANT = {  # Options that other programs have, and what they are called here.
    "--gpu": "--set training.accelerator=gpu", "--cuda": "--set training.accelerator=gpu",
    "--cpu": "--set training.accelerator=cpu", "--device": "--set training.accelerator=gpu",
    "--lr": "--set training.learning_rate=0.001", "--learning-rate": "--set training.learning_rate=0.001",
    "--batch-size": "--set batch_size=64", "--label": "--target", "--label-column": "--target", "--y": "--target",
    "--output": "--out", "--output-dir": "--out", "-o": "--out", "--random-state": "--seed", "--model": "--method",
    "--minutes": "--time-limit", "--test-size": "--test-fraction", "--na": "--missing", "--na-values": "--missing",
    "--delimiter": "--sep", "--separator": "--sep", "--ignore": "--drop", "--exclude": "--drop",
    "-k": "--k", "--n-jobs": "--jobs", "--force": "--overwrite",
}  # fmt: skip
OF_DEVICES = ("--gpu", "--cuda", "--cpu", "--device")


class _Parser(argparse.ArgumentParser):
    """An error is one line that names what is nearest to an unknown name; labels may begin with a minus sign."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options first, since an option that is missing may be one of them."""
        words = self._with_labels_joined(sys.argv[1:] if args is None else args)
        for word in words:
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                break
            name = word.partition("=")[0]
            if re.fullmatch(r"--?[a-zA-Z][^ ]*", name) and name not in self._option_string_actions:
                self.error(str(OrdinateError(name, problem="no such option", hint=self._hint(name))))
        return super().parse_known_args(words, namespace)

    def _hint(self, name: str) -> str | None:
        """Return what may be meant by an option that the command does not have: its own, or one of fit."""
        own = self._option_string_actions
        usual = MEANT.get(name)
        if usual is not None and usual.split()[0] in own:
            return f"did you mean {usual}?"
        if name in OF_DEVICES and not {"model", "models"}.isdisjoint(self._of_positions):
            return "a model runs on a GPU if there is one"
        near = _nearest(name, own)
        if near is not None:
            return f"did you mean {near}?"
        if usual is None:
            usual = _nearest(name, [flag(each.name) for each in fields(FitOptions) if each.default is not MISSING])
        if usual is None or not self._of_positions:
            return None
        return f"{usual} is an option of ordinate fit, which trains"

    @property
    def _of_positions(self) -> list[str]:
        """The names of what is typed without an option."""
        return [action.dest for action in self._positionals._group_actions]

    def _with_labels_joined(self, words: Iterable[str]) -> list[str]:
        """Return the words with ``--order -1,0,1`` as one, for argparse takes the second for an option."""
        known = self._option_string_actions
        joined: list[str] = []
        for word in words:
            takes_labels = bool(joined) and joined[-1] in known and known[joined[-1]].type is labels_text
            if takes_labels and word.startswith("-") and word.partition("=")[0] not in known:
                joined[-1] = f"{joined[-1]}={word}"
            else:
                joined.append(word)
        return joined

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if arg_strings == ["--"] and action.type is labels_text:  # Argparse takes it for the end of the options.
            return "--"
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            name = next(iter(action.option_strings), action.metavar)
            hint = did_you_mean(str(value), action.choices)
            self.error(str(OrdinateError(name, repr(value), f"one of {', '.join(map(str, action.choices))}", hint)))

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"ordinate: {message} (see {self.prog} --help)\n")


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known option that is most like another one; dashes do not count."""
    bare = {option.lstrip("-").casefold(): option for option in known}
    near = get_close_matches(name.lstrip("-").casefold(), bare, n=1)
    return bare[near[0]] if near else None


def build_parser(**defaults: object) -> argparse.ArgumentParser:
    """Return the parser of all commands, with other defaults of fit's options."""
    parser = _Parser(
        prog="ordinate",
        allow_abbrev=False,
        description="Learn representations that follow an ordered label: CLOC, SupCR, SupReMix, OTD.",
        epilog=_list_of_commands(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ordinate {__version__}")
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", help="one of the commands below")
    for command in _commands().values():
        of_command = parsers.add_parser(command.name, description=command.description, allow_abbrev=False)
        command.add_options(of_command)
        if command.name == "fit":
            of_command.set_defaults(**defaults)
    return parser


def _list_of_commands() -> str:
    """Return the commands as text for the help, under their headings."""
    groups: dict[str, list[str]] = {}
    for command in _commands().values():
        groups.setdefault(command.group, []).append(f"  {command.name:<12}{command.help}")
    return "\n\n".join("\n".join([f"commands for {name}:", *lines]) for name, lines in groups.items())


def _commands() -> dict[str, Command]:
    """Return the commands of the core and of the extensions by name."""
    found = list(COMMANDS)
    for extension in extensions():
        if extension.commands is not None:
            found += load_object(extension.commands)
    return {command.name: command for command in found}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    with sigterm_stops() as received:
        try:
            code = _run_flushed(argv, received)
        except BrokenPipeError:
            return unread()
        except OSError as error:  # The disk that the output goes to may be full.
            if DEBUG in os.environ:
                raise
            unread()
            return say_failure(error)
    return TERMINATED if received and code == STOPPED else code


def _run_flushed(argv: Sequence[str] | None, received: Sequence[int]) -> int:
    """Run the command, or print its help, and find out whether all of its output is read."""
    try:
        return _main(argv, time.monotonic(), received)
    finally:
        if sys.stdout is not None:  # It is None if the process was started without an output.
            sys.stdout.flush()


def _main(argv: Sequence[str] | None, started: float, received: Sequence[int]) -> int:
    if "OMP_WAIT_POLICY" not in os.environ:
        # Threads that spin for long starve others on a busy machine; some microseconds cover most waits.
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    logging.getLogger("ordinate").setLevel(logging.ERROR)  # Commands say themselves how long they take.
    parser = build_parser()
    options = vars(parser.parse_args(argv))
    if options["command"] is None:
        parser.print_help()
        return 0
    command = _commands()[options.pop("command")]
    warnings.showwarning = _show_warning
    if not is_first_process():
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  # Until the end.
    try:
        if command.name == "fit" and options["config"] is not None:
            options = _with_config(argv, options)
        if command.name == "fit":
            options = _with_targets(options)
        _run(command, options, started)
    except OrdinateError as error:
        print(f"ordinate: {_as_typed(error, options).splitlines()[0]}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        return say_stopped(str(stop))
    except BrokenPipeError:
        raise
    except Exception as error:
        if received:  # Workers that the signal ended as well are missed before it is heeded here.
            return say_stopped()
        if DEBUG in os.environ:
            raise
        return say_failure(error)
    return 0


def _with_config(argv: Sequence[str] | None, typed: ParsedOptions) -> ParsedOptions:
    """Return the options of a configuration file, of which those that were typed as well are replaced."""
    given = read_config(typed["config"], FitOptions)
    settings = [*given.pop("set"), *typed["set"]]  # The second value of a setting overrides the first.
    lists = {name: value for name, value in given.items() if isinstance(value, list)}
    single = {name: value for name, value in given.items() if name not in lists}
    options = vars(build_parser(**single).parse_args(argv))
    del options["command"]
    for name, value in lists.items():
        options[name] = options[name] or value
    return {**options, "set": settings}


def _with_targets(options: ParsedOptions) -> ParsedOptions:
    """Return the options of fit; ``--target`` takes every word after it, of which the last may be DATA."""
    data, target = options["data"], options["target"]
    if not isinstance(target, list):
        return options
    if data is None and len(target) > 1:
        *target, data = target
    if len(target) == 1:
        (target,) = target
    return {**options, "data": data, "target": target}


def _as_typed(error: OrdinateError, options: ParsedOptions) -> str:
    """Return the message of an error with options, and settings of ``--set``, as they are typed."""
    name = error.argument
    settings = [text.partition("=")[0] for text in options.get("set", ())]
    if name in options.keys() - {"data", "model", "models", "name", "query"}:  # These arguments have no flag.
        error = error.of(flag(name))
    for setting in settings:
        if setting.rpartition(".")[2] == name:
            error = error.of(f"--set {setting}")
    return in_options(str(error))


def _run(command: Command, options: ParsedOptions, started: float) -> None:
    if not 0 <= options.get("seed", 0) < 2**32:
        raise OrdinateError("seed", options["seed"], "a whole number from 0 to 4294967295")
    with ExitStack() as stack:
        stack.enter_context(_csv_format(command, options))
        if options.get("out") == STDOUT:
            stack.enter_context(only_table_on_stdout())
        if command.check is not None:
            command.check(options)
        if command.name == "fit" and is_first_process():
            print(f"reading {options['data']}", flush=True)  # What it imports takes seconds.
        if command.extra is not None:
            optional(command.run.partition(":")[0], command.extra, command.name)
        run = load_object(command.run)
        if command.name == "fit":
            run(FitOptions(**options), started)
        else:
            run(**options)


def _csv_format(command: Command, options: ParsedOptions) -> AbstractContextManager[None]:
    """Return the context in which csv files have the given format, which a model knows of its training data."""
    if "sep" not in options:
        return nullcontext()
    given = {name: options[name] for name in CSV_FORMAT}
    if command.name not in ("fit", "tune"):
        for name in CSV_FORMAT:
            del options[name]
    model, *_ = options.get("models", [options.get("model")])
    if model is not None:
        given["known"] = read_split(model)["csv"]
    return csv_given(Given(**given))


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, UserWarning):
        print(f"ordinate: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
