"""Fetch the packages that a machine without network lacks, so that gpu.sh installs them there.

    python benchmarks/gpu_wheels.py --python 3.12 --present PACKAGES.txt [--out .whl] [--platform manylinux_2_28_x86_64]

Run it in an environment that ordinate is installed in: it fetches the versions of what is there. PACKAGES.txt has the
names of the packages that the machine has, one per line, as `pip list --format=freeze` prints them there. torch,
triton, torchvision and what they require are never fetched: they have to be there, and fit each other and the driver.
"""

import argparse
import subprocess
import sys
from collections.abc import Set as AbstractSet
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NEEDED = (  # what the run imports: no page of a report, no text, no export
    "jaxtyping", "lightning", "matplotlib", "numpy", "pandas", "pillow", "pytorch-metric-learning", "safetensors",
    "scikit-learn", "scipy", "threadpoolctl", "timm", "tqdm",
)  # fmt: skip
THERE = ("torch", "torchvision", "triton")
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
LARGEST = 45.0  # MiB of all


def missing(present: AbstractSet[str], python: str) -> dict[str, str]:
    """Return what the run needs and the machine lacks, with the versions that are installed here."""
    known = {*present, *required(THERE, set(), python)}
    return {name: version(name) for name in sorted(required(NEEDED, known, python))}


def required(roots: tuple[str, ...], known: AbstractSet[str], python: str) -> set[str]:
    """Return packages and all that they require, without those that are known, by canonical name."""
    found: set[str] = set()
    left = [canonicalize_name(root) for root in roots]
    while left:
        name = left.pop()
        if name in found or name in known:
            continue
        found.add(name)
        try:
            needs = [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:  # not here, as it is for another platform
            continue
        there = {"python_version": python, "extra": ""}
        left += [canonicalize_name(need.name) for need in needs if need.marker is None or need.marker.evaluate(there)]
    return found


def fetch(packages: dict[str, str], python: str, platforms: list[str], folder: Path) -> None:
    """Fetch wheels into the folder."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--implementation", "cp", "--python-version", python, "--dest", str(folder)]
    command += [option for platform in platforms for option in ("--platform", platform)]
    subprocess.run([*command, *(f"{name}=={number}" for name, number in packages.items())], check=True)


def main() -> None:
    """Fetch what is missing, and say how much it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="version of the machine's Python, such as 3.12")
    parser.add_argument("--present", type=Path, help="file with the names of the packages that the machine has")
    parser.add_argument("--platform", nargs="+", default=list(PLATFORMS), help=" ".join(PLATFORMS))
    parser.add_argument("--out", type=Path, default=Path(".whl"), help="folder of the wheels (.whl)")
    options = parser.parse_args()
    lines = options.present.read_text().splitlines() if options.present is not None else []
    present = {canonicalize_name(line.partition("==")[0].strip()) for line in lines if line.strip()}
    packages = missing(present, options.python)
    if packages:
        fetch(packages, options.python, options.platform, options.out)
    print(" ".join(f"{name}=={number}" for name, number in packages.items()) or "nothing is missing")
    sizes = {path.name: path.stat().st_size / 2**20 for path in options.out.glob("*.whl")}
    print(f"{sum(sizes.values()):.1f} MiB in {options.out}; torch has to be there, with torchvision for the training")
    if sum(sizes.values()) > LARGEST:
        largest = sorted(sizes, key=lambda name: sizes[name], reverse=True)[:3]
        parser.error(f"more than {LARGEST:.0f} MiB; see whether the machine has the largest: {', '.join(largest)}")


if __name__ == "__main__":
    main()
