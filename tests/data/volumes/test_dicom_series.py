"""A folder of DICOM slices is one volume."""

import numpy as np
import pandas as pd
import pydicom
import pytest
from pydicom.uid import JPEGLosslessSV1

from ordinate.cli import main
from ordinate.data.registry import modality_of
from ordinate.data.volumes.labelled import holds_volumes
from ordinate.data.volumes.voxels import VolumeFiles
from ordinate.encoders.volume import ResNet3d18
from ordinate.errors import OrdinateError
from tests.command_line import one_line
from tests.data import lossless_jpeg, scans
from tests.data.images.test_dicom import write_compressed, write_dicom

AXIAL = [1, 0, 0, 0, 1, 0]


def write_series(folder, volume, *, reverse=False, orientation=AXIAL, spacing=(2.0, 3.0), gap=4.0, **elements):
    """Write a volume (x, y, z) in RAS as axial slices, whose axes run to the left and to the back."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = volume[::-1, ::-1].transpose(2, 1, 0).astype(np.int16)
    uid = f"1.2.{int.from_bytes(folder.name.encode(), 'big') % 10**9}"
    normal = np.cross(orientation[:3], orientation[3:])
    for place, image in enumerate(stored):
        number = len(stored) - place if reverse else place
        of_slice = {
            "SeriesInstanceUID": uid, "InstanceNumber": number, "ImageOrientationPatient": orientation,
            "ImagePositionPatient": [float(each) for each in -20 + gap * place * normal],
            "PixelSpacing": list(spacing), "RescaleSlope": 2, "RescaleIntercept": -100,
        } | elements  # fmt: skip
        of_slice = {name: value for name, value in of_slice.items() if value is not None}
        write_dicom(folder / f"{number:03}.dcm", np.ascontiguousarray(image), **of_slice)
    return folder


VOLUME = np.random.default_rng(0).integers(0, 200, (5, 4, 3))


@pytest.mark.parametrize("reverse", [False, True])
def test_slices_are_sorted_by_position_rescaled_and_turned_to_ras(tmp_path, reverse):
    files = VolumeFiles([write_series(tmp_path / "ann", VOLUME, reverse=reverse)])
    np.testing.assert_array_equal(files.read(0)[0], 2 * VOLUME - 100)
    channels, voxels, lengths = files.extent(0)
    assert (channels, voxels.tolist(), lengths.tolist()) == (1, [5, 4, 3], [3.0, 2.0, 4.0])  # Rows are 2 mm apart.


def test_the_volume_of_a_series_is_that_of_the_same_nifti_file(tmp_path):
    coronal = [1, 0, 0, 0, 0, -1]
    series = VolumeFiles([write_series(tmp_path / "ann", VOLUME, orientation=coronal)])
    stored = 2 * VOLUME[::-1, ::-1].transpose(0, 1, 2) - 100  # Columns, rows and slices.
    affine = np.array([[-3.0, 0, 0, 20], [0, 0, -4, 20], [0, -2, 0, -20], [0, 0, 0, 1]])
    scans.write(tmp_path, stored[None, None].astype(np.float32), ["ann.nii"], affine)
    nifti = VolumeFiles([tmp_path / "ann.nii"])
    for spacing in (None, (2.0, 2.0, 2.0)):
        np.testing.assert_allclose(series.read(0, spacing), nifti.read(0, spacing), atol=1e-3)


def test_compressed_slices_are_the_same_volume(tmp_path):
    folder = write_series(tmp_path / "ann", VOLUME)
    for path in folder.iterdir():
        file = pydicom.dcmread(path)
        stream = lossless_jpeg.encode(file.pixel_array, 16)
        write_compressed(path, file.pixel_array, stream, JPEGLosslessSV1, **elements_of(file))
    np.testing.assert_array_equal(VolumeFiles([folder]).read(0)[0], 2 * VOLUME - 100)


def elements_of(file):
    """Return the elements of a slice that say where it is, and how it is rescaled."""
    names = ("SeriesInstanceUID", "InstanceNumber", "ImageOrientationPatient", "ImagePositionPatient", "PixelSpacing")
    return {name: file[name].value for name in (*names, "RescaleSlope", "RescaleIntercept")}


def test_padding_has_the_lowest_value_of_the_volume(tmp_path):
    padded = VOLUME.copy()
    padded[0] = padded[:, 2] = -2000
    folder = write_series(tmp_path / "ann", padded, PixelPaddingValue=-2000)
    expected = 2.0 * VOLUME - 100
    outside = padded == -2000
    expected[outside] = expected[~outside].min()
    np.testing.assert_array_equal(VolumeFiles([folder]).read(0)[0], expected)


def test_without_positions_instance_numbers_give_the_order(tmp_path):
    folder = write_series(tmp_path / "ann", VOLUME, ImagePositionPatient=None, SliceThickness=5)
    np.testing.assert_array_equal(VolumeFiles([folder]).read(0)[0], 2 * VOLUME - 100)
    assert VolumeFiles([folder]).extent(0)[2].tolist() == [3.0, 2.0, 5.0]


def other_series(folder):
    write_series(folder, VOLUME[:, :, :1], SeriesInstanceUID="1.2.3")


def with_elements(of_slices, **elements):
    """Return a change of some slices of a folder: elements get other values, or are removed where they are None."""

    def change(folder):
        for path in sorted(folder.iterdir())[of_slices]:
            file = pydicom.dcmread(path)
            for name, value in elements.items():
                delattr(file, name)
                if value is not None:
                    setattr(file, name, value)
            file.save_as(path)

    return change


def truncated(folder):
    content = (folder / "001.dcm").read_bytes()
    (folder / "001.dcm").write_bytes(content[:-10])


EVERY, SECOND, FIRST_TWO = slice(None), slice(1, 2), slice(2)
NO_LENGTH = "with a position that is not finite, or a spacing that is not above 0"
WRONG = {
    "a truncated slice": (truncated, r"001.dcm: is damaged or no DICOM image: The number of bytes of pixel data"),
    "rows that do not fit": (
        with_elements(EVERY, Rows=9),
        "000.dcm: is damaged or no DICOM image: The number of bytes",
    ),
    "a slice of another size": (with_elements(SECOND, Rows=3), "of several sizes: 5 x 4, 5 x 3"),
    "a slice without position": (
        with_elements(SECOND, ImagePositionPatient=None),
        "holds 1 DICOM slices without position or orientation among 5, expected both in all slices, or in none",
    ),
    "numbers that occur twice": (
        with_elements(FIRST_TWO, ImagePositionPatient=None, InstanceNumber=7),
        "holds 2 DICOM slices without position",
    ),
    "a position twice": (
        with_elements(FIRST_TWO, ImagePositionPatient=[0, 0, 0]),
        "two DICOM slices in the same place",
    ),
    "a position that is no number": (with_elements(SECOND, ImagePositionPatient=["nan", 0, 0]), NO_LENGTH),
    "a spacing that is no number": (with_elements(EVERY, PixelSpacing=["nan", 1]), NO_LENGTH),
    "a spacing below 0": (with_elements(EVERY, PixelSpacing=[-1, 1]), NO_LENGTH),
    "a slope that is no number": (with_elements(SECOND, RescaleSlope="nan"), "001.dcm: is not finite after rescaling"),
    "another size": (lambda folder: write_series(folder, np.zeros((6, 4, 1))), "of several sizes: 4 x 6, 5 x 4|5 x 4"),
    "another series": (other_series, "of several series"),
    "a slice that is missing": (lambda folder: (folder / "002.dcm").unlink(), "lacks a slice: a gap of 8 mm"),
    "damage": (lambda folder: (folder / "001.dcm").write_bytes(b"no"), "001.dcm: is damaged or no DICOM file"),
    "a single slice": (
        lambda folder: [(folder / f"00{place}.dcm").unlink() for place in range(1, 5)],
        "got 1 DICOM slices, expected at least 2 of one series",
    ),
}


@pytest.mark.parametrize(("change", "expected"), WRONG.values(), ids=WRONG)
def test_a_folder_that_is_no_volume_is_an_error_that_names_it(tmp_path, change, expected):
    folder = write_series(tmp_path / "ann", np.zeros((5, 4, 5)))
    change(folder)
    with pytest.raises(OrdinateError, match=expected) as error:
        VolumeFiles([folder]).read(0)
    assert str(folder) in str(error.value)


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ({"InstanceNumber": 7}, "without positions and without instance numbers that differ"),
        ({"InstanceNumber": None}, "without positions and without instance numbers that differ"),
        ({"SliceThickness": -1}, NO_LENGTH),
    ],
)
def test_without_positions_numbers_differ_and_slices_have_a_thickness(tmp_path, elements, expected):
    folder = write_series(tmp_path / "ann", VOLUME, ImagePositionPatient=None, **elements)
    with pytest.raises(OrdinateError, match=expected):
        VolumeFiles([folder]).read(0)


def test_instance_numbers_that_occur_twice_do_not_matter_where_positions_differ(tmp_path):
    folder = write_series(tmp_path / "ann", VOLUME)
    with_elements(EVERY, InstanceNumber=7)(folder)
    np.testing.assert_array_equal(VolumeFiles([folder]).read(0)[0], 2 * VOLUME - 100)


def test_folders_of_images_stay_images(tmp_path):
    for name in ("0", "1"):
        for number in range(2):
            (tmp_path / name).mkdir(exist_ok=True)
            write_dicom(tmp_path / name / f"{number}.dcm", SeriesInstanceUID=f"1.2.{number}")
    assert not holds_volumes(tmp_path)
    write_series(tmp_path / "series" / "ann", VOLUME)
    assert holds_volumes(tmp_path / "series")
    assert not holds_volumes(tmp_path / "series" / "ann")


def test_python_takes_folders_as_volumes(tmp_path):
    folders = [write_series(tmp_path / name, VOLUME) for name in ("ann", "bob")]
    assert modality_of(folders).name == modality_of(list(map(str, folders))).name == "volumes"
    assert modality_of(["a" * 5000]).name == "images"  # Text that is too long for a path is none.


def test_fit_and_predict_read_series_that_labels_csv_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ResNet3d18.__init__.__kwdefaults__, "widths", (4, 4, 8, 8))
    ranks = np.arange(24) % 3
    drawn = scans.draw(50.0 + ranks, side=8)[:, 0].round()
    names = [f"{number:03}" for number in range(24)]
    for name, volume in zip(names, drawn, strict=True):
        write_series(tmp_path / "scans" / name, volume, spacing=(1.0, 1.0), gap=1.0)
    pd.DataFrame({"path": names, "stage": ranks}).to_csv("scans/labels.csv", index=False)
    arguments = ["--method", "otd", "--epochs", "2", "--no-report", "--quiet", "--out", "model"]
    assert main(["fit", "scans", "--target", "stage", *arguments]) == 0
    assert "24 samples of 8 x 8 x 8 voxels, 3 ranks" in capsys.readouterr().out
    (tmp_path / "scans" / "labels.csv").unlink()
    assert main(["predict", "model", "scans", "--out", "all.csv"]) == 0
    assert pd.read_csv("all.csv")["path"].tolist() == [f"scans/{name}" for name in names]
    (tmp_path / "scans" / "003" / "001.dcm").unlink()
    capsys.readouterr()
    assert main(["predict", "model", "scans", "--out", "some.csv"]) == 2
    assert "scans/003: lacks a slice" in one_line(capsys.readouterr().err)
