"""The packages that `pip install ordinate` brings along, and those that only an extra brings."""

import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Limits in addition to torch and its requirements.
MAX_PACKAGES = 16
MAX_MEGABYTES = 380


def required(requirements):
    """Return the names of the packages that requirements bring along, by the metadata of those installed here."""
    found = set()
    asked = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        found.add(name)
        for extra in {"", *requirement.extras} - {extra for known, extra in asked if known == name}:
            asked.add((name, extra))
            needed = [Requirement(each) for each in metadata.requires(name) or []]
            waiting += [each for each in needed if each.marker is None or each.marker.evaluate({"extra": extra})]
    return found


def megabytes(package):
    files = [file.locate() for file in metadata.files(package) or [] if file.suffix != ".pyc"]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def test_the_base_is_light():
    beyond = required(PROJECT["dependencies"]) - required(["torch"])
    assert {"numpy", "scikit-learn", "python-dateutil"} <= beyond
    assert beyond.isdisjoint({"lightning", "bokeh", "aiohttp"})
    assert "aiohttp" in required(PROJECT["optional-dependencies"]["adapters"])  # It comes by an extra of a dependency.
    assert len(beyond) <= MAX_PACKAGES
    assert sum(map(megabytes, beyond)) <= MAX_MEGABYTES


def test_dev_has_what_every_extra_has():
    extras = dict(PROJECT["optional-dependencies"])
    dev = set(extras.pop("dev"))
    listed = {name: {line for line in lines if not line.startswith("ordinate[")} for name, lines in extras.items()}
    missing = {name: sorted(lines - dev) for name, lines in listed.items()}
    assert {name: lines for name, lines in missing.items() if lines} == {}


def test_all_has_every_extra_of_users():
    extras = PROJECT["optional-dependencies"]
    (line,) = extras["all"]
    assert Requirement(line).extras == extras.keys() - {"all", "dev", "docs", "release"}
