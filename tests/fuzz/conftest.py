"""Limits of memory and time for every trial."""

import resource
import signal
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def limits(seconds=300, memory=3 * 2**30):
    """Fail a trial that hangs, and refuse it more memory than files so small can need."""

    def fail(*_):
        pytest.fail(f"the trial took more than {seconds} s")

    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    before = signal.signal(signal.SIGALRM, fail)
    resource.setrlimit(resource.RLIMIT_DATA, (used + memory, hard))
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    signal.signal(signal.SIGALRM, before)
