"""The processes that ``torchrun`` started this command or script in."""

import os


def joined_processes() -> int:
    """How many there are; 1 where torchrun did not start this one."""
    return int(os.environ["WORLD_SIZE"]) if _by_torchrun() else 1


def processes_here() -> int:
    """How many there are on this machine."""
    return int(os.environ["LOCAL_WORLD_SIZE"]) if _by_torchrun() else 1


def is_first_process() -> bool:
    """Whether this is the one that prints and writes."""
    return not _by_torchrun() or os.environ["RANK"] == "0"


def _by_torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ
