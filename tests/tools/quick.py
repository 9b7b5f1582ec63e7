"""Run the tests nearest to what has changed since a commit, within a minute.

    python tests/tools/quick.py [--since COMMIT] [--list | --thorough] [PYTEST ARGUMENTS]

Nearest first: test files that changed; the mirrored tests of sources that changed (src/ordinate/losses/mmnp.py has
tests/losses/test_mmnp.py, or its folder where no file has that name) and their doctests; tests that import it;
and a few that pass through the whole library. What has not started after SECONDS is skipped, and pytest says how much.
"""

import argparse
import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 50
DEADLINE = "ORDINATE_QUICK_UNTIL"
SMOKE = ["tests/test_package.py", "tests/functional/test_supcr.py", "tests/losses/test_every_loss.py",
         "tests/decisions/test_rule.py", "tests/commands/test_options.py"]  # fmt: skip


def changed_since(commit: str) -> list[str]:
    """List the files that differ from a commit, untracked ones among them, relative to the root."""
    git = ["git", "-C", str(ROOT)]
    differ = subprocess.check_output([*git, "diff", "--name-only", "--diff-filter=d", commit], text=True)
    new = subprocess.check_output([*git, "ls-files", "--others", "--exclude-standard"], text=True)
    return sorted({*differ.split(), *new.split()})


def module_of(path: str) -> str:
    """Give the dotted name under which a file of src or of tests is imported."""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def mirrored(source: str) -> list[str]:
    """List the test files that mirror a source file: of its name, otherwise all of its folder."""
    folder = Path("tests", *Path(source).parts[2:-1])
    named = folder / f"test_{Path(source).name.lstrip('_')}"
    if (ROOT / named).is_file():
        return [named.as_posix()]
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).glob("test_*.py"))


def imported_by(path: Path) -> set[str]:
    """Collect the dotted names that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def nearest(changed: list[str]) -> list[str]:
    """List what pytest is to run for changed files, nearest first, each once."""
    python = [path for path in changed if path.endswith(".py")]
    sources = [path for path in python if path.startswith("src/ordinate/")]
    chosen = [path for path in python if Path(path).name.startswith("test_")]
    chosen += [test for source in sources for test in mirrored(source)] + sources
    modules = {module_of(path) for path in python}
    packages = {module.rpartition(".")[0] for module in modules} - {
        "",
        "ordinate",
        "tests",
    }  # that pass them on
    imports = {path: imported_by(path) for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    for names in (modules, packages):
        chosen += [path.relative_to(ROOT).as_posix() for path, imported in imports.items() if names & imported]
    return list(dict.fromkeys(chosen))


@pytest.hookimpl(tryfirst=True)  # before fixtures are made
def pytest_runtest_setup() -> None:
    """Skip what would start too late; pytest loads this file as a plugin, in every worker."""
    if time.time() > float(os.environ[DEADLINE]):
        pytest.skip(f"{SECONDS} s are over")


def main() -> int:
    """Choose the tests, and run or list them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="HEAD", metavar="COMMIT")
    parser.add_argument("--list", action="store_true", help="name the files, nearest first, and run nothing")
    parser.add_argument("--thorough", action="store_true", help="run what only `make thorough` runs, without a limit")
    options, arguments = parser.parse_known_args()
    files = nearest(changed_since(options.since))
    if options.list:
        print(*files, sep="\n")
        return 0
    pytest_command = [sys.executable, "-m", "pytest", *arguments]
    if options.thorough:
        done = subprocess.call([*pytest_command, "-m", "thorough", *files], cwd=ROOT) if files else 0
        return 0 if done == pytest.ExitCode.NO_TESTS_COLLECTED else done
    os.environ[DEADLINE] = str(time.time() + SECONDS)
    return subprocess.call([*pytest_command, "-p", "tests.tools.quick", *dict.fromkeys([*files, *SMOKE])], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
