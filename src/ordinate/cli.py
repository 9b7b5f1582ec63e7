"""The command ``ordinate``: parses arguments, and turns an error that a user can fix into one line and exit code 2.

Nothing heavy is imported before a command runs, so that help and errors come at once.
"""

import argparse
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any, NoReturn

from ordinate.commands.catalogue import COMMANDS, CSV_FORMAT, Command
from ordinate.commands.config_file import with_config
from ordinate.commands.endings import DEBUG, STOPPED, TERMINATED, say_failure, say_stopped, sigterm_stops, unread
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.options import ParsedOptions, check_seed, flag, in_options, labels_text
from ordinate.commands.split_file import read_split
from ordinate.commands.table_file import STDOUT, only_table_on_stdout
from ordinate.data.csv_format import Given, csv_given
from ordinate.errors import OrdinateError, arguments_as_typed, did_you_mean
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
    "-k": "--k", "--force": "--overwrite",
}  # fmt: skip
LISTS = ("COLUMNS", "VALUES", "A,B,C")  # Of other options that are given twice the last counts.
OF_DEVICES = ("--gpu", "--cuda", "--cpu", "--device")


class _Parser(argparse.ArgumentParser):
    """An error is one line that names what is nearest to an unknown name; labels may begin with a minus sign."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options first, since an option that is missing may be one of them."""
        words = self._with_labels_joined(sys.argv[1:] if args is None else args)
        given: set[str] = set()
        for word in words:
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                break
            name = word.partition("=")[0]
            if name in given and self._option_string_actions[name].metavar in LISTS:
                self.error(str(OrdinateError(name, problem="is given twice", expected="once, with commas")))
            if name in self._option_string_actions:
                given.add(name)
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
        wrong = re.fullmatch("argument (--[^:]*): invalid (int|float) value: (.*)", message)
        if wrong is not None:
            expected = {"int": "a whole number", "float": "a number"}[wrong[2]]
            message = str(OrdinateError(wrong[1], wrong[3], expected))
        if message.startswith("unrecognized arguments"):
            message += "; a value with blanks needs quotes, and several columns are given as a,b"
        self.exit(2, f"ordinate: {message} (see {self.prog} --help)\n")


class _CommandParser(_Parser):
    """The parser of a command, which has options once it is used; what it returns has the command and itself too."""

    def __init__(self, command: Command, prog: str) -> None:
        super().__init__(prog, description=command.description, allow_abbrev=False)
        self.command = command

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.command.add_options(self)
        self.set_defaults(parser=self)
        return super().parse_known_args(args, namespace)

    def has(self, option: str) -> bool:
        """Return whether there is such an option."""
        return option in self._option_string_actions


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known option that is most like another one; dashes do not count."""
    bare = {option.lstrip("-").casefold(): option for option in known}
    near = get_close_matches(name.lstrip("-").casefold(), bare, n=1)
    return bare[near[0]] if near else None


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="ordinate",
        allow_abbrev=False,
        description="Predict labels that have an order (grades, ratings, stages), and learn their representations.",
        epilog=_list_of_commands(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"ordinate {__version__}")
    parser.set_defaults(parser=None)
    parsers = parser.add_subparsers(metavar="COMMAND", help="one of the commands below", parser_class=_CommandParser)
    for command in _commands():
        parsers.add_parser(command.name, command=command)
    return parser


def _list_of_commands() -> str:
    """Return the commands as text for the help, under their headings."""
    groups: dict[str, list[str]] = {}
    for command in _commands():
        groups.setdefault(command.group, []).append(f"  {command.name:<12}{command.help}")
    return "\n\n".join("\n".join([f"commands for {name}:", *lines]) for name, lines in groups.items())


def _commands() -> list[Command]:
    """Return the commands of the core and of the extensions."""
    found = list(COMMANDS)
    for extension in extensions():
        if extension.commands is not None:
            found += load_object(extension.commands)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    with sigterm_stops() as received, arguments_as_typed():
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
        return _main(argv, received)
    finally:
        if sys.stdout is not None:  # It is None if the process was started without an output.
            sys.stdout.flush()


def _main(argv: Sequence[str] | None, received: Sequence[int]) -> int:
    if "OMP_WAIT_POLICY" not in os.environ:
        # Threads that spin for long starve others on a busy machine; some microseconds cover most waits.
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    logging.getLogger("ordinate").setLevel(logging.ERROR)  # Commands say themselves how long they take.
    parser = build_parser()
    options = vars(parser.parse_args(argv))
    of_command: _CommandParser | None = options.pop("parser")
    if of_command is None:
        parser.print_help()
        return 0
    warnings.showwarning = _show_warning
    if not is_first_process():
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  # Until the end.
    try:
        if "config" in options:
            options = with_config(options, FitOptions)
        _run(of_command.command, options)
    except OrdinateError as error:
        sys.stdout.flush()
        print(f"ordinate: {_as_typed(error, of_command, options).splitlines()[0]}", file=sys.stderr)
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


def _as_typed(error: OrdinateError, parser: _CommandParser, options: ParsedOptions) -> str:
    """Return the message of an error with options, and settings of ``--set``, as they are typed."""
    name = str(error.argument)
    settings = [text.partition("=")[0] for text in options.get("set", ())]
    if name == "X" and isinstance(options.get("data"), str):  # What Python calls the samples.
        error = error.of(options["data"])
    if parser.has(flag(name)):
        error = error.of(flag(name))
    for setting in settings:
        if setting.rpartition(".")[2] == name:
            error = error.of(f"--set {setting}")
    return in_options(str(error))


def _run(command: Command, options: ParsedOptions) -> None:
    check_seed(options.get("seed", 0))
    with ExitStack() as stack:
        stack.enter_context(csv_given(_csv_format(options)))
        if options.get("out") == STDOUT:
            stack.enter_context(only_table_on_stdout())
        arguments = command.prepare(options)
        if command.check is not None:
            command.check(arguments)
        if command.extra is not None:
            optional(command.run.partition(":")[0], command.extra, command.name)
        run = load_object(command.run)
        run(**arguments)


def _csv_format(options: ParsedOptions) -> Given:
    """Return the given format of csv files, which a model knows of its training data."""
    given: ParsedOptions = {name: options.get(name) for name in CSV_FORMAT}
    model, *_ = options.get("models", [options.get("model")])
    if model is not None and "sep" in options:
        given["known"] = read_split(model)["csv"]
    return Given(**given)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, UserWarning):
        text = str(message)
        print(text if text.startswith(("note: ", "left out: ")) else f"note: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
