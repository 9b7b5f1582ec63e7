"""Commands that are killed at random moments: what is there afterwards is whole, and the same command does the rest."""

import hashlib
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from attack_trial import Outcome
from ordinate import load
from ordinate.cli import main

Random = np.random.Generator
ROWS = 60


class Kills:
    """A table and a model of it, which commands read, and of which they may change nothing."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.data, self.model, self.other = (self.folder / name for name in ("data.csv", "model", "other"))
        X = np.random.default_rng(seed).normal(size=(ROWS, 3))
        rows = "".join(f"{a},{b},{c},{row % 3}\n" for row, (a, b, c) in enumerate(X))
        self.data.write_text(f"a,b,c,grade\n{rows}")
        self.commands: dict[str, tuple[list[Any], str]] = {
            "fit": (["fit", self.data, "--target", "grade", "--method", "cloc", "--epochs", "3", "--quiet"], "m"),
            "predict": (["predict", self.model, self.data], "p.csv"),
            "transform": (["transform", self.model, self.data], "t.npy"),
            "search": (["search", self.model, self.data, "--among", self.data], "s.parquet"),
            "suspects": (["suspects", self.data, "--target", "grade", "--epochs", "2", "--quiet"], "u.csv"),
            "report": (["report", self.model, self.data, "--target", "grade"], "r.html"),
            "export": (["export", self.model, "--format", "torch"], "e.pt2"),
            "compare": (["compare", self.model, self.other, "--data", self.data, "--target", "grade"], "c.html"),
        }
        self._start("fit", self.model, None)
        shutil.copytree(self.model, self.other)
        self.inputs = self._digest()
        self.seconds: dict[str, float] = {}
        for name, (_, out) in self.commands.items():
            start = time.monotonic()
            self._start(name, self.folder / out, None)
            self.seconds[name] = time.monotonic() - start

    def draw(self, random: Random) -> tuple[str, Callable[[], Outcome]]:
        """Return what is tried, and the trial."""
        name = str(random.choice(list(self.commands)))
        after = float(random.uniform(0, self.seconds[name]))
        return f"{name}, killed after {after:.2f} s", lambda: self._kill(name, after)

    def _kill(self, name: str, after: float) -> Outcome:
        work = Path(tempfile.mkdtemp(dir=self.folder))
        (work / "tmp").mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(work / "tmp")
        out = work / self.commands[name][1]
        self._start(name, out, after)
        if self._digest() != self.inputs:
            return "misread", "what it reads has changed"
        if out.exists() and (wrong := _broken(out)):
            return "half-written", wrong
        if not out.exists():
            try:
                self._start(name, out, None)
            except Exception as error:
                return "traceback", f"the same command again: {type(error).__name__}: {error}"
            if wrong := _broken(out):
                return "half-written", f"by the same command again: {wrong}"
        kept = {"tmp", out.name, f"{out.name}.json"}
        left = sorted({path.name for path in work.iterdir()} - kept)
        temporary = (path for path in (work / "tmp").iterdir() if not path.name.startswith("torchinductor"))
        left += sorted(str(path.relative_to(work)) for path in temporary)
        return ("left over", str(left)) if left else ("whole", "")

    def _start(self, name: str, out: Path, seconds: float | None) -> None:
        """Run a command in a process of its own, which is killed after some seconds, or ends by itself."""
        process = get_context("fork").Process(target=self._run, args=(name, out))
        process.start()
        process.join(seconds)
        if process.is_alive():
            process.kill()
            process.join()
        elif process.exitcode != 0:
            raise RuntimeError(out.with_name("said").read_text())

    def _run(self, name: str, out: Path) -> None:
        arguments = [str(part) for part in self.commands[name][0]]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
            code = main([*arguments, "--out", str(out)])
        if code != 0:
            out.with_name("said").write_text(said.getvalue())
            raise SystemExit(code)

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for path in [self.data, *sorted(self.model.iterdir())]:
            digest.update(path.read_bytes())
        return digest.hexdigest()


def _broken(out: Path) -> str:
    """Return what is wrong with the file or folder that a command made; nothing for a whole one."""
    try:
        if out.is_dir():
            load(out)
        elif out.suffix == ".csv":
            lines = out.read_text().splitlines()
            if len(lines) != ROWS + 1 or len({line.count(",") for line in lines}) != 1:
                return f"{len(lines)} lines"
        elif out.suffix == ".npy":
            np.load(out)
        elif out.suffix == ".parquet":
            pd.read_parquet(out)
        elif out.suffix == ".html":
            return "" if out.read_text().rstrip().endswith("</html>") else "no end"
        else:
            torch.export.load(out)
            return "" if out.with_name(f"{out.name}.json").is_file() else "no description"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
