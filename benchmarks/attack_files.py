"""Files that are damaged, and what reading them gives: what they say, or one line that names them."""

import io
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from attack_damage import BYTES, DAMAGES, Random
from attack_trial import Outcome, outcome_of_command, refusal_of
from ordinate.commands.samples import decode_array, modality_of_data, read_samples, text_columns
from ordinate.data.images.options import ImageOptions
from ordinate.data.modality import Request
from ordinate.data.rows import Batches
from ordinate.data.series.eeg import CHANNELS
from ordinate.data.volumes.options import VolumeOptions
from ordinate.estimators.batches import read_unlabelled

ROWS, SIDE = 24, 8
RATE = 20  # Hz, of recordings
COMMANDS = 1 / 40  # of the trials that run a whole command
OPTIONS = {"images": ImageOptions(workers=0), "volumes": VolumeOptions(workers=0)}
CHECKED = (".gz", ".npz", ".zip", ".png")  # formats that hold a sum by which a change of a sample shows


class Files:
    """Good files of every kind that is read, of which each trial damages a copy."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder = Path(tempfile.mkdtemp(dir=folder))  # one per process
        self.good, self.work = folder / "good", folder / "work"
        random = np.random.default_rng(seed)
        for name, write in GOOD.items():
            path = self.good / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, random)
        self.truth = {name: _read(self.good / name) for name in GOOD}

    def draw(self, random: Random) -> tuple[str, Callable[[], Outcome]]:
        """Return what is tried, and the trial."""
        name = str(random.choice(list(GOOD)))
        shutil.rmtree(self.work, ignore_errors=True)
        path = self.work / name
        path.parent.mkdir(parents=True)
        shutil.copytree(self.good / name, path) if (self.good / name).is_dir() else shutil.copy(self.good / name, path)
        parts = sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]
        part = parts[random.integers(len(parts))]
        damages = [*(DAMAGES.get(_ending(part), {}).items() if random.random() < 0.6 else ()), *BYTES.items()]
        if len(damages) > len(BYTES):
            damages = damages[: -len(BYTES)]
        what, damage = damages[random.integers(len(damages))]
        same = bool(damage(part, random)) or (what in BYTES and part.name.endswith(CHECKED))
        if random.random() < COMMANDS:
            return f"{name}: {what}, by a command", lambda: outcome_of_command(_fit(path), self.work)
        return f"{name}: {what}", lambda: self._outcome(name, path, same=same)

    def _outcome(self, name: str, path: Path, *, same: bool) -> Outcome:
        try:
            found = _read(path)
        except Exception as error:  # which is what is looked for
            return refusal_of(error, str(self.work), "target", "column")
        if same and found != self.truth[name]:
            return "misread", "other samples or labels than were written"
        return "read", ""


def _fit(path: Path) -> list[str]:
    """Return the command that trains a model of a file."""
    named = _target(path)
    target = [] if named is None else ["--target", named]
    text = ["--text", "text", "--encoder", "bilstm"] if path.name.startswith("text") else []
    out = ["--out", str(path.with_name("model"))]
    return [
        "fit",
        str(path),
        *target,
        *text,
        *out,
        "--method",
        "supcr",
        "--task",
        "continuous",
        "--epochs",
        "1",
        "--quiet",
    ]


def _target(path: Path) -> str | None:
    return None if path.name in ("series.ts", "recordings") else "age" if path.name in FOLDERS else "grade"


def _ending(path: Path) -> str:
    return next((ending for ending in DAMAGES if path.name.endswith(ending)), "")


def _read(path: Path) -> Any:
    """Return what training and prediction read of a file, in a form that can be compared."""
    data, request = str(path), Request(_target(path), say=lambda _: None)
    samples = read_samples(data, request, OPTIONS)
    if path.name.startswith("text"):
        samples = text_columns(samples, ["text"], data)
    if modality_of_data(data).name == "tables":
        samples = decode_array(samples, request, OPTIONS)
    unlabelled = read_unlabelled(path)
    if hasattr(unlabelled, "columns"):
        unlabelled = pd.concat(list(Batches(unlabelled, 10)))
    return _plain(samples.X), samples.y.tolist(), _plain(unlabelled)


def _plain(X: Any) -> Any:
    X = getattr(X, "pixels", X)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        return [str(list(X.columns)), *map(str, X.to_numpy().tolist())]
    if isinstance(X, np.ndarray):
        return str(X.shape), np.asarray(X, dtype=np.float64).tobytes()
    return getattr(X, "texts", None) and [str(text) for text in X.texts]


def _table(random: Random) -> pd.DataFrame:
    numbers = random.normal(size=(ROWS, 2)).round(4)
    return pd.DataFrame(
        {
            "grade": np.arange(ROWS) % 3,
            "size": numbers[:, 0],
            "weight": numbers[:, 1],
            "colour": np.array(["red", "blue"])[random.integers(0, 2, ROWS)],
        }
    )


def _labels(names: list[str]) -> str:
    return "path,age\n" + "".join(f"{name},{20 + row}\n" for row, name in enumerate(names))


def _png(random: Random) -> bytes:
    content = io.BytesIO()
    Image.fromarray(random.integers(0, 256, (SIDE, SIDE), dtype=np.uint8)).save(content, "png")
    return content.getvalue()


def _write_images(path: Path, random: Random) -> None:
    path.mkdir()
    names = [f"{row}.png" for row in range(6)]
    for name in names:
        (path / name).write_bytes(_png(random))
    (path / "labels.csv").write_text(_labels(names))


def _write_zip(path: Path, random: Random) -> None:
    names = [f"{row}.png" for row in range(6)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("labels.csv", _labels(names))
        for name in names:
            archive.writestr(name, _png(random))


def _write_shard(path: Path, random: Random) -> None:
    with tarfile.open(path, "w") as tar:
        for row in range(6):
            for name, content in ((f"{row}.png", _png(random)), (f"{row}.json", f'{{"age": {20 + row}}}'.encode())):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


def _write_matrices(path: Path, random: Random) -> None:
    path.mkdir()
    names = [f"{row}.{'csv' if row % 2 else 'npy'}" for row in range(6)]
    for name in names:
        matrix = random.normal(size=(3, 10)).round(3)
        if name.endswith(".csv"):
            np.savetxt(path / name, matrix, delimiter=",", fmt="%.3f")
        else:
            np.save(path / name, matrix)
    (path / "labels.csv").write_text(_labels(names))


def _write_volumes(path: Path, random: Random) -> None:
    import nibabel

    path.mkdir()
    names = [f"{row}.nii{'.gz' if row % 2 else ''}" for row in range(6)]
    for name in names:
        voxels = random.integers(0, 500, (SIDE, SIDE, SIDE)).astype(np.int16)
        nibabel.save(nibabel.Nifti1Image(voxels, np.eye(4)), path / name)
    (path / "labels.csv").write_text(_labels(names))


def _write_ts(path: Path, random: Random) -> None:
    head = "@univariate false\n@dimensions 2\n@equalLength true\n@seriesLength 6\n@targetlabel true\n@data\n"
    rows = (":".join(",".join(f"{x:.3f}" for x in random.normal(size=6)) for _ in range(2)) for _ in range(ROWS))
    path.write_text(head + "".join(f"{row}:{number}\n" for number, row in enumerate(rows)))


def _write_text(path: Path, random: Random) -> None:
    words = np.array(["loud", "quiet", "music, or", "night", "café"])
    texts = [" ".join(random.choice(words, 4)) for _ in range(ROWS)]
    pd.DataFrame({"grade": np.arange(ROWS) % 3, "text": texts}).to_csv(path, index=False)


def _write_recordings(path: Path, random: Random) -> None:
    """Write two recordings of a minute and a second, in TUAB's layout; reading leaves the first minute out."""
    from edfio import Edf, EdfSignal, Patient

    folder = path / "train" / "normal" / "01_tcp_ar"
    folder.mkdir(parents=True)
    for row in range(2):
        signals = [
            EdfSignal(random.normal(size=62 * RATE), sampling_frequency=RATE, label=f"EEG {name}-REF",
                      physical_dimension="uV", physical_range=(-100, 100))
            for name in CHANNELS
        ]  # fmt: skip
        patient = Patient(code=f"aaaaaa{row:02}", additional=(f"Age:{20 + row}",))
        Edf(signals, patient=patient).write(folder / f"aaaaaa{row:02}_s001_t000.edf")


FOLDERS = ("images", "images.zip", "shards.tar", "matrices", "volumes")
GOOD: dict[str, Callable[[Path, Random], Any]] = {
    "table.csv": lambda path, random: _table(random).to_csv(path, index=False),
    "table.csv.gz": lambda path, random: _table(random).to_csv(path, index=False),
    "table.tsv": lambda path, random: _table(random).to_csv(path, index=False, sep="\t"),
    "table.parquet": lambda path, random: _table(random).to_parquet(path),
    "table.npz": lambda path, random: np.savez(path, X=random.normal(size=(ROWS, 3)), grade=np.arange(ROWS) % 3),
    "series.ts": _write_ts,
    "text.csv": _write_text,
    "images": _write_images,
    "images.zip": _write_zip,
    "shards.tar": _write_shard,
    "matrices": _write_matrices,
    "volumes": _write_volumes,
    "recordings": _write_recordings,
}
