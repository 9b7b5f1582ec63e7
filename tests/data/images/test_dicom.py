"""DICOM files become the pictures that a viewer shows."""

import io

import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

from ordinate.cli import main
from ordinate.data.images.files import ImageFiles
from ordinate.errors import OrdinateError
from tests.fuzz.trials import succeeds_or_is_refused

STORED = np.random.default_rng(0).integers(0, 4096, (40, 30)).astype(np.uint16)


def write_dicom(path, stored=STORED, kind="MONOCHROME2", **elements):
    file = Dataset()
    file.file_meta = FileMetaDataset()
    file.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    file.file_meta.MediaStorageSOPClassUID = file.SOPClassUID = SecondaryCaptureImageStorage
    file.file_meta.MediaStorageSOPInstanceUID = file.SOPInstanceUID = generate_uid()
    file.Rows, file.Columns = stored.shape[:2]
    file.SamplesPerPixel = 1 if stored.ndim == 2 else 3
    if stored.ndim == 3:
        file.PlanarConfiguration = 0
    file.PhotometricInterpretation = kind
    file.BitsAllocated = file.BitsStored = 8 * stored.itemsize
    file.HighBit = file.BitsStored - 1
    file.PixelRepresentation = int(stored.dtype.kind == "i")
    file.PixelData = stored.tobytes()
    for name, value in elements.items():
        setattr(file, name, value)
    pydicom.dcmwrite(path, file, enforce_file_format=True)
    return path


def pixels(path):
    return np.asarray(ImageFiles([path]).open(0))


def test_the_window_of_rescaled_values_is_the_range_of_grey(tmp_path):
    path = write_dicom(
        tmp_path / "a.dcm", RescaleSlope=2, RescaleIntercept=-1024, WindowCenter=[1000, 40], WindowWidth=[2001, 400]
    )
    expected = np.clip((2.0 * STORED - 1024 - (-0.5)) / 2000, 0, 1) * 255  # The window is from -0.5 to 1999.5.
    assert pixels(path).dtype == np.uint8
    np.testing.assert_array_equal(pixels(path), expected.round())


@pytest.mark.parametrize(
    "elements", [{}, {"WindowCenter": 7, "WindowWidth": 0}, {"WindowCenter": "", "WindowWidth": ""}]
)
def test_without_a_window_extreme_values_are_cut_off(tmp_path, elements):
    stored = STORED.astype(np.int16) - 2000
    stored[0, :2] = 32000, -32000
    found = pixels(write_dicom(tmp_path / "a.dcm", stored, **elements))
    low, high = np.percentile(stored, [0.5, 99.5])
    np.testing.assert_array_equal(found, (((stored - low) / (high - low)).clip(0, 1) * 255).round())


def test_monochrome1_is_inverted(tmp_path):
    plain, inverted = (write_dicom(tmp_path / f"{kind}.dcm", kind=kind) for kind in ("MONOCHROME2", "MONOCHROME1"))
    assert np.abs(255.0 - pixels(inverted) - pixels(plain)).max() <= 1


def test_colours_stay_colours(tmp_path):
    stored = np.random.default_rng(0).integers(0, 256, (8, 6, 3)).astype(np.uint8)
    np.testing.assert_array_equal(pixels(write_dicom(tmp_path / "a.dcm", stored, kind="RGB")), stored)


@pytest.mark.parametrize(("bits", "dtype", "dropped"), [(12, "<u2", 4), (16, "<u2", 8), (10, "<u2", 2), (6, "u1", 0)])
def test_colours_of_more_bits_keep_their_highest_eight(tmp_path, bits, dtype, dropped):
    stored = np.random.default_rng(0).integers(0, 2**bits, (8, 6, 3)).astype(dtype)
    path = write_dicom(tmp_path / "a.dcm", stored, kind="RGB", BitsStored=bits, HighBit=bits - 1)
    np.testing.assert_array_equal(pixels(path), stored // 2**dropped)


def test_an_image_of_one_value_is_black(tmp_path):
    assert not pixels(write_dicom(tmp_path / "a.dcm", np.full((4, 4), 9, dtype=np.uint16))).any()


def test_what_is_no_single_image_is_an_error_that_names_the_file(tmp_path):
    path = write_dicom(tmp_path / "a.dcm")
    with pytest.raises(OrdinateError, match=r"a\.dcm: got 30 x 40 pixels, expected at most 1000"):
        ImageFiles([path]).open(0, 1000)
    several = write_dicom(tmp_path / "b.dcm", NumberOfFrames=3)
    with pytest.raises(OrdinateError, match=r"b\.dcm: got 3 frames, expected one image per file"):
        ImageFiles([several]).open(0)
    file = pydicom.dcmread(path)
    del file.PixelData
    file.save_as(tmp_path / "c.dcm")
    with pytest.raises(OrdinateError, match=r"c\.dcm: is a DICOM file without an image"):
        ImageFiles([tmp_path / "c.dcm"]).open(0)


def test_a_damaged_file_is_read_or_an_error_that_names_it(tmp_path):
    buffer = io.BytesIO()
    write_dicom(buffer)
    content, random = buffer.getvalue(), np.random.default_rng(0)
    path = tmp_path / "a.dcm"
    for _ in range(200):
        damaged = bytearray(content[: random.integers(140, len(content) + 1)])
        for place in random.integers(132, min(len(damaged), 900), 3):
            damaged[place] = random.integers(256)
        path.write_bytes(damaged)
        with succeeds_or_is_refused(str(path)):
            pixels(path)


def test_a_folder_of_dicom_files_is_trained_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for rank in range(3):
        (tmp_path / "knees" / str(rank)).mkdir(parents=True)
        for number in range(12):
            write_dicom(
                tmp_path / "knees" / str(rank) / f"{number}.dcm", STORED // (4 - rank), WindowCenter=2048,
                WindowWidth=4096,
            )  # fmt: skip
    command = "fit knees --target grade --method cloc --encoder test_resnet --epochs 1 --no-report --quiet --out model"
    assert main([*command.split(), "--image-size", "16x16", "--set", "data.workers=0"]) == 0
    assert main(["predict", "model", "knees", "--out", "predicted.csv"]) == 0
    assert (tmp_path / "predicted.csv").read_text().splitlines()[1].startswith("knees/0/0.dcm,")
