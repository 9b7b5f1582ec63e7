"""The processes that ``torchrun`` started this command or script in."""

import hashlib
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


def shared_number() -> int:
    """A number that all processes of this run have, and hardly another run."""
    told = [os.environ.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")]
    return int.from_bytes(hashlib.sha256("|".join(told).encode()).digest()[:8], "big")


def _by_torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ
