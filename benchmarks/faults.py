"""Seed known faults into a copy of the code, one at a time, and see that the tests catch each of them.

    ORDINATE_DATA=DIR python benchmarks/faults.py [FAULT ...]

faults.toml describes the faults: a change of one line, and the tests that must fail with it. Ends with 1 if a fault
survives. Mutation testers such as mutmut and cosmic-ray generate thousands of changes of their own and run the same
tests for all; neither takes a list of changes.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Fault:
    """A change of one line.

    Args:
        name: Name of the fault.
        old: Text that occurs once in src.
        new: Text that replaces it.
        why: Effect for a user.
        tests: Tests of which at least one must fail.
    """

    name: str
    old: str
    new: str
    why: str
    tests: list[str]

    def place(self, root: Path = ROOT) -> Path:
        """Return the file that contains the old text, and check that the new text changes what the code does."""
        files = [file for file in sorted((root / "src").rglob("*.py")) if self.old in file.read_text("utf-8")]
        if len(files) != 1 or files[0].read_text("utf-8").count(self.old) != 1:
            raise SystemExit(f"{self.name}: {self.old!r} occurs in {[str(file) for file in files]}, expected it once")
        text = files[0].read_text("utf-8")
        changed = ast.dump(ast.parse(text)) != ast.dump(ast.parse(text.replace(self.old, self.new)))
        if not changed or "\n" in self.old + self.new:
            raise SystemExit(f"{self.name}: expected a change of one line of code")
        return files[0]


def read_faults() -> list[Fault]:
    """Return the faults of faults.toml."""
    faults = tomllib.loads((ROOT / "benchmarks" / "faults.toml").read_text("utf-8"))
    return [Fault(name, **fields) for name, fields in faults.items()]


def tests_pass(tests: list[str], copy: Path) -> bool:
    """Return whether the tests pass on the copy, of which those run that failed last, or else all, up to a failure."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--last-failed", *tests]
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"{tests} cannot be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


def main() -> None:
    """Seed the faults that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="names of faults (all)")
    names = parser.parse_args().faults
    faults = [fault for fault in read_faults() if fault.name in names or not names]
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
    survived = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / "copy"
        shutil.copytree(ROOT, copy, ignore=ignored)
        for fault in faults:
            file = fault.place(copy)
            text = file.read_text("utf-8")
            file.write_text(text.replace(fault.old, fault.new), "utf-8")
            caught = not tests_pass(fault.tests, copy)
            file.write_text(text, "utf-8")
            if caught and not tests_pass(fault.tests, copy):
                raise SystemExit(f"{fault.name}: {fault.tests} fail without the fault too")
            print(f"{fault.name}: {'caught' if caught else 'SURVIVED'}", flush=True)
            if not caught:
                survived.append(fault.name)
    print(f"{len(faults) - len(survived)} of {len(faults)} faults caught")
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
