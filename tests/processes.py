"""Real processes that a test can kill, forked from one that has imported everything, so that they start at once."""

import multiprocessing
import os
import signal
import socket
import sys

import torch

PRELOADED = [
    "ordinate.commands.fit.command",
    "ordinate.commands.predict",
    "ordinate.training.loop",
    "tests.estimators.examples",
]
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(PRELOADED)


def start(target, *args, daemon=True):
    """Run ``target(*args)`` in a process of its own and return the process; a daemon may have no processes itself."""
    _context.set_forkserver_preload(PRELOADED)  # again, as benchmarks/losses.py asks for others
    process = _context.Process(target=_run, args=(target, args), daemon=daemon)
    process.start()
    return process


def run(target, *args, daemon=True):
    """Run ``target(*args)`` in a process of its own and return its exit code."""
    process = start(target, *args, daemon=daemon)
    process.join()
    return process.exitcode


def together(count, target, folder, *args):
    """Run ``target(rank, *args)`` in ``count`` processes that see each other, and return what each returns."""
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    processes = [start(_among, rank, count, port, target, folder, args) for rank in range(count)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * count
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(count)]


def _among(rank, count, port, target, folder, args):
    # as torchrun sets them, for Lightning; the processes meet at the first one's address
    elastic = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "GROUP_RANK": 0}
    elastic |= {"TORCHELASTIC_RUN_ID": "tests", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in elastic.items()})
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder / 'meet'}", rank=rank, world_size=count)
    torch.save(target(rank, *args), folder / f"{rank}.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def kill_me():
    """End this process as ``kill -9`` and a power cut do."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_me_at_audit(event, accepts):
    """End this process as soon as Python is about to do ``event`` with arguments that ``accepts`` takes."""
    sys.addaudithook(lambda name, args: kill_me() if name == event and accepts(*args) else None)


def _run(target, args):
    torch.set_num_threads(1)
    target(*args)
