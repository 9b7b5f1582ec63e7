"""Facts that stand in two places agree: workflows, pre-commit, oldest versions, citation, addresses."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import ordinate

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = dict(re.findall(r"^([a-z]+):.*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE))
OLDEST_EXTRAS = re.search(r"--editable '\.\[([a-z,]+)\]'", TARGETS["oldest"])[1].split(",")
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
HOST = re.compile(r"[\w.+-]+@[\w.-]+\.invalid|https?://[\w.-]+\.invalid[\w./-]*")


def read_yaml(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_workflows_run_targets_of_make(path):
    jobs = read_yaml(path)["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    made = [command.split()[1] for command in commands if command.startswith("make ")]
    assert set(made) <= TARGETS.keys()
    assert all(command.startswith(("make ", "sudo apt-get ")) for command in commands)


def test_the_suite_runs_on_every_version_that_the_package_names():
    matrix = read_yaml(".github/workflows/tests.yml")["jobs"]["suite"]["strategy"]["matrix"]
    named = [each.split(" :: ")[-1] for each in PROJECT["classifiers"] if " Python :: 3." in each]
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert len(matrix["os"]) == sum("Operating System" in each for each in PROJECT["classifiers"])


def test_the_oldest_versions_are_the_bounds_of_the_requirements():
    lines = [*PROJECT["dependencies"]]
    lines += [line for extra in OLDEST_EXTRAS for line in PROJECT["optional-dependencies"][extra]]
    specifiers = {each.name: each.specifier for each in map(Requirement, lines)}
    bounds = {name: next(part.version for part in parts if part.operator == ">=") for name, parts in specifiers.items()}
    pins = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").split()
    assert sorted(pins) == sorted(f"{name}=={bound}" for name, bound in bounds.items())


def test_the_citation_is_of_this_version_and_of_the_four_papers():
    citation = read_yaml("CITATION.cff")
    assert citation["version"] == ordinate.__version__
    assert (citation["url"], citation["repository-code"]) == tuple(
        PROJECT["urls"][name] for name in ("Documentation", "Repository")
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {each["url"].split("/")[-1] for each in citation["references"]} == set(re.findall(r"arXiv:([\d.]+)", readme))


def test_addresses_that_are_placeholders_are_those_of_the_project():
    known = set(HOST.findall((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    files = subprocess.run(["git", "grep", "-lI", r"\.invalid"], capture_output=True, text=True, check=True, cwd=ROOT)
    others = {
        address
        for name in files.stdout.split()
        if not name.startswith(("tests/", "src/"))
        for address in HOST.findall((ROOT / name).read_text(encoding="utf-8"))
    }
    assert others <= known


def test_shapes_are_of_classes():
    """From NumPy 2.5 on ``NDArray[...]`` is no class, and jaxtyping refuses it when the module is imported."""
    of_alias = re.compile(r"\b(?:Float|Int|UInt8|Bool|Shaped|Num)\[\s*NDArray\b")
    assert [
        str(path) for path in (ROOT / "src").rglob("*.py") if of_alias.search(path.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_to_pages(page):
    """Of the site, of those it generates, or of results, from which it makes pages: Sphinx fails on any other."""
    links = re.findall(r"\]\((?!https?:)([^)#\s]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    paths = {link: (page.parent / link).resolve() for link in links}
    generated = ROOT / "docs" / "generated"
    known = {*(path.resolve() for path in PAGES), *(ROOT / "benchmarks" / "results").rglob("*.md")}
    assert [link for link, path in paths.items() if path not in known and generated not in path.parents] == []
