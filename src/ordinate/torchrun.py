"""The processes that ``torchrun`` started this command or script in."""

import hashlib
import itertools
import json
import os
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

_decisions = itertools.count()


def joined_processes() -> int:
    """How many there are; 1 where torchrun did not start this one."""
    return int(os.environ["WORLD_SIZE"]) if _by_torchrun() else 1


def is_first_process() -> bool:
    """Whether this is the one that prints and writes."""
    return not _by_torchrun() or os.environ["RANK"] == "0"


def shared_number() -> int:
    """A number that all processes of this run have, and hardly another run."""
    told = [os.environ.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")]
    return int.from_bytes(hashlib.sha256("|".join(told).encode()).digest()[:8], "big")


def broadcast_from_rank_zero(decide: Callable[[], object]) -> Any:
    """Return, in all processes, what the first decides, such as by its clock: a value that JSON holds.

    All processes ask for the same decisions in the same order; ``decide`` is called in the first alone.
    """
    if joined_processes() == 1:
        return decide()
    key = f"ordinate/{next(_decisions)}"
    if is_first_process():
        _store().set(key, json.dumps(decide()))
    return json.loads(_store().get(key))


@cache
def _store() -> "Store":
    """Return what the processes meet by, whether they have joined a process group or not."""
    from torch.distributed.rendezvous import rendezvous

    # The other processes may wait for a whole training before a decision.
    store: Store = next(iter(rendezvous("env://", timeout=timedelta(days=7))))[0]
    return store


def _by_torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ
