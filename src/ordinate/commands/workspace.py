"""The folder that a long command works in: it survives a kill, and becomes the result in one step."""

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from ordinate.errors import OrdinateError, argument
from ordinate.report.output import check_free
from ordinate.torchrun import is_first_process

LOGS = "logs"  # The folder of what --logger writes.


def write_record(path: Path, record: object) -> None:
    """Write what a command has to know after a kill, whole or not at all."""
    pending = path.with_suffix(".tmp")
    pending.write_text(json.dumps(record, indent=2))
    pending.replace(path)


def read_record(path: Path) -> Any:
    """Return what was written there; None where nothing was."""
    return json.loads(path.read_text()) if path.exists() else None


def partial_folder(out: Path) -> Path:
    """Return the folder that a command works in until ``out`` is written."""
    return Path(f"{out.resolve()}.partial")


class Workspace:
    """``OUT.partial`` next to the result ``OUT``, locked while a command works in it: its first process.

    A command that is given again with the same settings, ready for JSON, finds its checkpoints there; with other
    settings it is refused, and so is an ``OUT`` that already holds something.
    """

    def __init__(self, out: Path, settings: Mapping[str, object]) -> None:
        self.given = out
        self.out = out.resolve()
        self.partial = partial_folder(out)
        self.settings = settings
        # The operating system releases the lock when the process ends.
        self.lock = FileLock(self.partial / ".lock", blocking=False)
        self.published = False

    @property
    def checkpoints(self) -> Path:
        return self.partial / "checkpoints"

    def __enter__(self) -> Self:
        if not is_first_process():
            return self
        check_free(self.given)
        self.made = [folder for folder in self.partial.parents if not folder.exists()]
        try:
            self.partial.mkdir(parents=True, exist_ok=True)
            self.lock.acquire()
        except Timeout:
            raise OrdinateError(
                "--out", problem=f"{self.given} is in use by another run", expected="another folder"
            ) from None
        except OSError as error:
            raise OrdinateError("--out", problem=f"{self.given} cannot be written: {error.strerror}") from error
        try:
            self._check_settings()
        except BaseException:
            self.lock.release()
            raise
        return self

    def _check_settings(self) -> None:
        """See that what is here is of this run."""
        record = self.partial / "run.json"
        if not record.exists():
            write_record(record, self.settings)
        elif json.loads(record.read_text()) != json.loads(json.dumps(self.settings)):
            raise OrdinateError(
                "--out",
                problem=f"{self.partial} keeps the state of a run with other data or settings",
                hint=f"give that command again to continue it, remove the folder, or take another {argument('out')}",
            )

    @property
    def resumes(self) -> bool:
        """Whether an earlier run left checkpoints here."""
        return self.checkpoints.exists() and any(self.checkpoints.rglob("*.ckpt"))

    def begin(self, part: str) -> int:
        """Return how often a part of the work was begun before, in runs that ended in the middle of it."""
        record = self.partial / f"{part}.json"
        before: int = read_record(record) or 0
        write_record(record, before + 1)
        return before

    def publish(self, result: Path) -> None:
        """Make the folder ``result`` the output, whole, and remove what led to it."""
        if self.out.exists():
            self.out.rmdir()
        result.replace(self.out)
        shutil.rmtree(self.partial, ignore_errors=True)
        self.published = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not is_first_process():
            return
        self.lock.release()
        if self.published:  # Windows keeps the lock's file until it is released.
            shutil.rmtree(self.partial, ignore_errors=True)
        if isinstance(error, OrdinateError) and self.partial.exists() and not self.resumes:
            shutil.rmtree(self.partial, ignore_errors=True)
            for folder in self.made:
                with suppress(OSError):
                    folder.rmdir()
