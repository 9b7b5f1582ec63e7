"""The memory that is available, asked before it is taken: a few bytes of a file can say that it holds terabytes."""

import math
import zipfile
from pathlib import Path

import numpy as np

from ordinate.errors import OrdinateError


def available_memory() -> int | None:
    """Return the bytes that the system could give to this process; None if it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    available = next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), None)
    limit = Path("/sys/fs/cgroup/memory.max")  # A container has this limit.
    if available is not None and limit.is_file() and (most := limit.read_text().strip()).isdecimal():
        return min(available, int(most))
    return available


def require_memory(size: float, what: object, hint: str | None = None) -> None:
    """Raise an error if ``size`` bytes are more than is available; ``what`` takes them, and ``hint`` is the way out."""
    available = available_memory()
    if available is not None and size > available:
        expected = f"at most {available / 2**30:.3g} GiB, the memory that is available"
        raise OrdinateError(what, problem=f"takes {size / 2**30:.3g} GiB of memory", expected=expected, hint=hint)


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a file in a zip, where memory holds as many as the zip says."""
    require_memory(archive.getinfo(name).file_size, f"{archive.filename}/{name}")
    return archive.read(name)


def check_npz(path: Path) -> None:
    """Raise an error if an array of an npz says that it is larger than what is there, or memory does not hold all."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                read_header = np.lib.format.read_array_header_2_0
                if np.lib.format.read_magic(file) == (1, 0):
                    read_header = np.lib.format.read_array_header_1_0
                shape, _, dtype = read_header(file)
                if math.prod(shape) * dtype.itemsize > member.file_size - file.tell():
                    raise OrdinateError(path, problem=f"could not be read: {member.filename} is not of shape {shape}")
    check_zip(path)


def check_zip(path: Path) -> None:
    """Raise an error if a file is a zip of more than memory holds."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            require_memory(sum(member.file_size for member in archive.infolist()), path)
