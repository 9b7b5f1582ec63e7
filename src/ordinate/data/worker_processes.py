"""How many worker processes may be started."""

import multiprocessing
import os


def usable_workers(workers: int) -> int:
    """Return the number of worker processes: at most one per core, and 0 where none may be started."""
    return 0 if multiprocessing.current_process().daemon else min(workers, os.cpu_count() or 1)
