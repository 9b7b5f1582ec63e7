"""A damaged file is read as its content says, or refused in one line that names it."""

import shutil
import zipfile
from types import SimpleNamespace

import imagecodecs
import nibabel
import numpy as np
import pandas as pd
import pydicom
import pyreadstat
import pytest
import rdata
import tifffile
from edfio import Edf, EdfSignal, Patient
from PIL import Image
from pydicom.uid import JPEG2000Lossless, JPEGExtended12Bit, JPEGLosslessSV1, JPEGLSLossless, RLELossless

from ordinate.commands.samples import decode, modality_of_data, open_samples, with_preprocessing
from ordinate.data.images.options import ImageOptions
from ordinate.data.modality import Request
from ordinate.data.registry import modality_of_files
from ordinate.data.rows import BatchedSamples
from ordinate.data.volumes.options import VolumeOptions
from ordinate_papers.datasets.tuab import CHANNELS, read_tuab
from tests.data.images.test_dicom import palette, write_compressed, write_dicom
from tests.data.tables.sas_table import write_iris
from tests.data.volumes.test_dicom_series import write_series
from tests.fuzz.damage import BYTES, DAMAGES, HARMLESS, pick
from tests.fuzz.trials import seeds, succeeds_or_is_refused

ROWS = 24
NO_DATA = (42113, "s", 0, "-9999", False)
WORKERS = {"images": ImageOptions(workers=0), "volumes": VolumeOptions(workers=0)}
CHECKED = (".gz", ".npz", ".zip", ".png")  # These formats hold a sum by which a change of a sample shows.
TABLES = (
    "table.csv",
    "table.csv.gz",
    "table.tsv",
    "table.parquet",
    "table.npz",
    "table.xlsx",
    "table.feather",
    "table.jsonl",
    "table.json",
    "table.sav",
    "table.zsav",
    "table.por",
    "table.dta",
    "table.xpt",
    "table.sas7bdat",
    "table.arff",
    "table.rds",
    "table.rda",
)
TARGETS = {"table.sas7bdat": "Sepal_Length", "table.por": "GRADE"}
FOLDERS = ("images", "images.zip", "deep", "x-rays", "matrices", "volumes", "scans")
NAMES = (*TABLES, *FOLDERS, "series.ts", "recordings")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder with a small file of each kind, and the content that reading gives."""
    folder = tmp_path_factory.mktemp("good")
    write_files(folder, np.random.default_rng(0))
    return SimpleNamespace(folder=folder, content={name: read(folder / name) for name in NAMES})


@pytest.mark.filterwarnings("ignore:.* reads .*:UserWarning")  # Notes on how a csv is written.
@pytest.mark.filterwarnings("ignore:.* the first of each is read:UserWarning")
@pytest.mark.parametrize("seed", seeds(quick=6, thorough=120))
@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_file_is_read_as_it_says_or_refused(name, seed, good, tmp_path):
    path = copy(good.folder / name, tmp_path)
    unchanged = damage(path, np.random.default_rng(seed))
    found = None
    with succeeds_or_is_refused(str(tmp_path), "target", "column"):
        found = read(path)
    if unchanged and found is not None:
        assert found == good.content[name]


def copy(source, folder):
    if source.is_dir():
        return shutil.copytree(source, folder / source.name)
    return shutil.copy(source, folder / source.name)


def damage(path, random):
    """Damage a file, or one of a folder, and return whether reading must still give the same."""
    parts = [part for part in sorted(path.rglob("*")) if part.is_file()] or [path]
    part = pick(random, parts)
    ending = "".join(part.suffixes)
    of_format = DAMAGES.get(ending, {})
    harmless = HARMLESS.get(ending, {})
    damages = of_format | harmless
    if not damages or random.random() < 0.4:
        damages = BYTES
    name = pick(random, list(damages))
    part.write_bytes(damages[name](part.read_bytes(), random))
    return name in harmless or (damages is BYTES and part.name.endswith(CHECKED))


def target_of(path):
    if path.name in FOLDERS:
        return "age"
    return TARGETS.get(path.name, "grade") if path.name in TABLES else None


def read(path):
    """Return the samples that training and prediction read, in a form that can be compared."""
    if path.name == "recordings":
        recordings = read_tuab(path)
        return comparable(recordings.samples), recordings.labels.tolist()
    request = Request(target_of(path), say=lambda _: None)
    samples = open_samples(str(path), request, modality_of_data(str(path)))
    options = WORKERS.get(samples.modality.name)
    samples = decode(with_preprocessing(samples, options, request.say), str(path), request, options)
    unlabelled = modality_of_files(path).read_unlabelled(path)
    if hasattr(unlabelled, "columns"):
        unlabelled = pd.concat(list(BatchedSamples(unlabelled, 10)))
    return comparable(samples.X), samples.y.tolist(), comparable(unlabelled)


def comparable(X):
    X = getattr(X, "pixels", X)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        return [str(list(X.columns)), *map(str, X.to_numpy().tolist())]
    if isinstance(X, np.ndarray):
        return str(X.shape), np.asarray(X, dtype=np.float64).tobytes()
    return None


def write_files(folder, random):
    grades = np.arange(ROWS) % 3
    numbers = random.normal(size=(ROWS, 2)).round(4)
    columns = {"grade": grades, "size": numbers[:, 0], "weight": numbers[:, 1]}
    table = pd.DataFrame(columns | {"colour": random.choice(["red, or", "café"], ROWS)})
    table.to_csv(folder / "table.csv", index=False)
    table.to_csv(folder / "table.csv.gz", index=False)
    table.to_csv(folder / "table.tsv", index=False, sep="\t")
    table.to_parquet(folder / "table.parquet")
    table.to_excel(folder / "table.xlsx", index=False)
    table.to_feather(folder / "table.feather")
    table.to_json(folder / "table.jsonl", orient="records", lines=True)
    table.to_json(folder / "table.json")
    write_surveys(folder, table)
    np.savez(folder / "table.npz", X=random.normal(size=(ROWS, 3)), grade=grades)
    series = random.normal(size=(ROWS, 2, 6)).round(3).tolist()
    rows = [":".join(",".join(map(str, channel)) for channel in channels) for channels in series]
    head = "@univariate false\n@dimensions 2\n@equalLength true\n@seriesLength 6\n@targetlabel true\n@data\n"
    (folder / "series.ts").write_text(head + "".join(f"{row}:{number}\n" for number, row in enumerate(rows)))
    write_images(folder, random)
    write_deep_images(folder / "deep", random)
    write_x_rays(folder / "x-rays", random)
    write_arrays(folder, random)
    write_scans(folder / "scans", random)
    write_recordings(folder / "recordings", random)


def write_labels(folder, names):
    folder.mkdir(exist_ok=True)
    lines = [f"{name},{20 + number}\n" for number, name in enumerate(names)]
    (folder / "labels.csv").write_text("path,age\n" + "".join(lines))


def write_surveys(folder, table):
    labels = {"grade": {0: "low", 1: "middle", 2: "high"}}
    for ending, options in (("sav", {}), ("zsav", {"compress": True})):
        pyreadstat.write_sav(
            table, folder / f"table.{ending}", variable_value_labels=labels, missing_ranges={"size": [99]}, **options
        )
    pyreadstat.write_dta(table, folder / "table.dta", variable_value_labels=labels)
    pyreadstat.write_xport(table, folder / "table.xpt")
    pyreadstat.write_por(table[["grade", "size", "weight"]].rename(columns=str.upper), folder / "table.por")
    write_iris(folder / "table.sas7bdat")
    attributes = ["@attribute grade {0,1,2}", *(f"@attribute {name} real" for name in ("size", "weight"))]
    rows = [",".join(map(str, row)) for row in table[["grade", "size", "weight"]].itertuples(index=False)]
    (folder / "table.arff").write_text("\n".join(["@relation r", *attributes, "@data", *rows, ""]))
    numbers = table[["grade", "size", "weight"]].astype(float)
    rdata.write_rds(folder / "table.rds", numbers)
    rdata.write_rda(folder / "table.rda", {"about": "a table", "numbers": numbers})


def write_images(folder, random):
    names = [f"{number}.png" for number in range(6)]
    write_labels(folder / "images", names)
    for name in names:
        Image.fromarray(random.integers(0, 256, (8, 8), dtype=np.uint8)).save(folder / "images" / name)
    with zipfile.ZipFile(folder / "images.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ["labels.csv", *names]:
            archive.write(folder / "images" / name, name)


def write_deep_images(folder, random):
    """Write images of more than 8 bits in every format and some compressions."""
    grey = random.integers(0, 4096, (16, 16), dtype=np.uint16)
    colour = random.integers(0, 4096, (16, 16, 3), dtype=np.uint16)
    floats = np.where(grey < 100, -9999, grey / 4096).astype(np.float32)
    write_labels(folder, [*(f"{number}.tif" for number in range(5)), "5.png", "6.png", "7.ppm", "8.ppm", "9.jpg"])
    write_tiff = tifffile.imwrite
    write_tiff(folder / "0.tif", colour, photometric="rgb", compression="zlib", predictor=True)
    write_tiff(folder / "1.tif", grey, photometric="miniswhite", compression="lzw", rowsperstrip=5)
    write_tiff(folder / "2.tif", floats, tile=(16, 16), compression="packbits", extratags=[NO_DATA])
    write_tiff(folder / "3.tif", colour, photometric="rgb", planarconfig="separate")
    write_tiff(folder / "4.tif", grey, compression="jpeg2000")
    (folder / "5.png").write_bytes(imagecodecs.png_encode(colour))
    (folder / "6.png").write_bytes(imagecodecs.png_encode(grey))
    (folder / "7.ppm").write_bytes(b"P6 16 16 4095\n" + colour.astype(">u2").tobytes())
    (folder / "8.ppm").write_bytes(b"P2 16 16 4095\n" + " ".join(map(str, grey.ravel())).encode())
    (folder / "9.jpg").write_bytes(imagecodecs.jpeg8_encode(grey, bitspersample=12))


def write_x_rays(folder, random):
    """Write DICOM files of every family of compression."""
    stored = random.integers(0, 4096, (16, 16), dtype=np.uint16)
    streams = {
        JPEGLosslessSV1: imagecodecs.jpeg8_encode(stored, bitspersample=12, lossless=True),
        JPEGExtended12Bit: imagecodecs.jpeg8_encode(stored, bitspersample=12),
        JPEGLSLossless: imagecodecs.jpegls_encode(stored),
        JPEG2000Lossless: imagecodecs.jpeg2k_encode(stored, level=0, codecformat="J2K", bitspersample=12),
    }
    write_labels(folder, [f"{number}.dcm" for number in range(len(streams) + 3)])
    elements = {"BitsStored": 12, "HighBit": 11, "PixelPaddingValue": 7}
    for number, (syntax, stream) in enumerate(streams.items()):
        write_compressed(folder / f"{number}.dcm", stored, stream, syntax, **elements)
    write_dicom(folder / "4.dcm", stored, WindowCenter=2000, WindowWidth=500, VOILUTFunction="SIGMOID")
    write_dicom(folder / "5.dcm", (stored % 256).astype(np.uint8), "PALETTE COLOR", **palette(range(256)))
    file = pydicom.dcmread(folder / "4.dcm")
    file.compress(RLELossless)
    file.save_as(folder / "6.dcm")


def write_arrays(folder, random):
    write_labels(folder / "matrices", ["0.npy", "1.csv", "2.npy", "3.csv"])
    for number in (0, 2):
        np.save(folder / "matrices" / f"{number}.npy", random.normal(size=(3, 10)).round(3))
        rows = random.normal(size=(3, 10)).round(3)
        np.savetxt(folder / "matrices" / f"{number + 1}.csv", rows, delimiter=",", fmt="%.3f")
    names = ["0.nii", "1.nii.gz", "2.nii", "3.nii.gz"]
    write_labels(folder / "volumes", names)
    for name in names:
        voxels = random.integers(0, 500, (8, 8, 8)).astype(np.int16)
        nibabel.save(nibabel.Nifti1Image(voxels, np.eye(4)), folder / "volumes" / name)


def write_scans(folder, random):
    names = ["ann", "bob", "cleo"]
    write_labels(folder, names)
    for name in names:
        write_series(folder / name, random.integers(0, 500, (6, 5, 4)))


def write_recordings(folder, random, rate=20):
    """Write two recordings of 62 s in TUAB's layout, of which reading leaves out the first minute."""
    folder = folder / "train" / "normal" / "01_tcp_ar"
    folder.mkdir(parents=True)
    options = {"sampling_frequency": rate, "physical_dimension": "uV", "physical_range": (-100, 100)}
    for number in range(2):
        signals = [EdfSignal(random.normal(size=62 * rate), label=f"EEG {name}-REF", **options) for name in CHANNELS]
        patient = Patient(code=f"aaaaaa{number:02}", additional=(f"Age:{20 + number}",))
        Edf(signals, patient=patient).write(folder / f"aaaaaa{number:02}_s001_t000.edf")
