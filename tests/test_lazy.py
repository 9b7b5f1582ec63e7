"""Names that are imported on first use, by one thread or by several at once."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ordinate

SOURCE = Path(ordinate.__file__).parent
LAZY = ("ordinate", "ordinate.estimators", "ordinate_papers.estimators", "ordinate.methods")
BELOW_COMMANDS = sorted(
    path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in ("commands", "cli.py")
)
PACKAGE = """
from ordinate.lazy import lazily

__getattr__, __dir__ = lazily({package!r}, {{"use": "{package}.part"}})
"""
# each part needs the other one, which is whole only some time after the two have met
PART = """
import time

time.sleep(0.2)
import {other}.part

time.sleep(0.4)
value = {value}


def use():
    return {other}.part.value
"""
AT_ONCE = """
import threading

statements = {statements}
start = threading.Barrier(len(statements))
errors = []


def run(statement):
    start.wait()
    try:
        exec(statement, {{}})
    except BaseException as error:
        errors.append(f"{{statement}}: {{error!r}}")


threads = [threading.Thread(target=run, args=(statement,)) for statement in statements]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*errors, sep="\\n", end="")
"""


def errors_at_once(*statements, folder=None):
    """What is raised in a new process in which a thread each runs the statements."""
    script = AT_ONCE.format(statements=list(statements))
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture
def two_packages(tmp_path):
    for number, (package, other) in enumerate([("first", "second"), ("second", "first")]):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(PACKAGE.format(package=package))
        (tmp_path / package / "part.py").write_text(PART.format(other=other, value=number))
    return tmp_path


def test_threads_can_import_packages_that_need_each_other_at_once(two_packages):
    uses = ("from first import use; assert use() == 1", "from second import use; assert use() == 0")
    assert errors_at_once(*uses, *uses, folder=two_packages) == ""


def lazy_names(statement):
    """The names of an import that a package imports on first use."""
    if isinstance(statement, ast.ImportFrom) and statement.module in LAZY:
        return {alias.name for alias in statement.names} & import_module(statement.module)._HOMES.keys()
    return set()


def test_a_module_that_may_be_imported_on_first_use_asks_for_no_such_names_meanwhile():
    for path in BELOW_COMMANDS:
        asked = [lazy_names(statement) for statement in ast.parse(path.read_text()).body]
        assert not any(asked), path


def test_every_lazy_name_is_there():
    for package in LAZY:
        for name in import_module(package)._HOMES:
            assert getattr(import_module(package), name) is not None
