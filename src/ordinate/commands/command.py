"""What a command of the command line is: its parser, what it refuses at once, and the function that runs it."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Command:
    """A command, of which nothing heavy is imported before it runs.

    Args:
        name: such as ``"fit"``.
        help: one line.
        description: what ``--help`` begins with.
        add_options: adds its arguments and options to its parser.
        run: the function that runs it, as ``"module:function"``.
        check: raises where it cannot run, as far as its options and the names of files tell.
    """

    name: str
    help: str
    description: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: str
    check: Callable[[dict[str, Any]], None] = lambda _: None
