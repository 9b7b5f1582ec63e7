"""The stored pixels of DICOM files, whatever compresses them, and the tables that they are looked up in."""

import io
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate
from pydicom.uid import (
    MPEG2MPML,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    JPEGExtended12Bit,
    JPEGLossless,
    JPEGLosslessSV1,
    JPEGLSLossless,
)

from ordinate.data.dicom import check_one_frame, is_dicom, looked_up, padding, read_dicom, rescaled, stored_pixels
from ordinate.data.images.files import ImageFiles
from ordinate.errors import OrdinateError
from tests.data import lossless_jpeg
from tests.data.images.test_dicom import STORED, write_compressed, write_dicom

FILES = Path(pydicom.__file__).parent / "data" / "test_files"
SMALL = STORED[:8, :6]


def pixels_of(path):
    return stored_pixels(read_dicom(Path(path)), str(path)).values


@pytest.mark.parametrize("compressed", ["RLE", "jp2klossless", "jpeg_ls_lossless"])
def test_files_that_other_programs_compressed_hold_the_pixels_of_the_original(compressed):
    found, expected = pixels_of(FILES / f"MR_small_{compressed}.dcm"), pixels_of(FILES / "MR_small.dcm")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype == np.int16


@pytest.mark.parametrize(
    ("name", "total"),  # This is the sum of the pixels that DCMTK 3.6.7 decodes.
    [("JPGExtended", 3767007), ("SC_rgb_jpeg_gdcm", 3831000), ("JPEGLSNearLossless_16", 6007250)],
)
def test_pixels_are_those_of_another_decoder(name, total):
    assert pixels_of(FILES / f"{name}.dcm").sum(dtype=np.int64) == total


@pytest.mark.parametrize("syntax", [JPEGLossless, JPEGLosslessSV1])
@pytest.mark.parametrize("predictor", [1, 7])
@pytest.mark.parametrize(("bits", "dtype"), [(8, "u1"), (12, "<u2"), (16, "<u2"), (12, "<i2"), (16, "<i2")])
def test_lossless_jpeg_keeps_every_bit_and_sign(tmp_path, bits, dtype, predictor, syntax):
    lowest = -(2 ** (bits - 1)) if dtype[-2] == "i" else 0
    stored = np.random.default_rng(0).integers(lowest, lowest + 2**bits, (8, 6)).astype(dtype)
    stream = lossless_jpeg.encode(stored.astype(np.int64) % 2**bits, bits, predictor)
    path = write_compressed(tmp_path / "a.dcm", stored, stream, syntax, BitsStored=bits, HighBit=bits - 1)
    np.testing.assert_array_equal(pixels_of(path), stored)


@pytest.mark.parametrize("is_signed", [True, False])
def test_the_file_says_whether_jpeg_2000_is_signed_and_not_the_stream(is_signed):
    file = read_dicom(FILES / "J2K_pixelrep_mismatch.dcm")  # Its stream says that it is not signed, its header that.
    file.PixelRepresentation = int(is_signed)
    found = stored_pixels(file, "a").values
    assert (found.min() < 0) == is_signed
    assert found.min() >= -(2**12)
    assert found.max() < 2**13


def test_bits_above_those_that_are_stored_are_left_out(tmp_path):
    with_overlay = SMALL | 0x8000
    stream = lossless_jpeg.encode(with_overlay, 16)
    path = write_compressed(tmp_path / "a.dcm", SMALL, stream, JPEGLosslessSV1, BitsStored=12, HighBit=11)
    np.testing.assert_array_equal(pixels_of(path), SMALL)


@pytest.mark.parametrize(
    ("syntax", "words"),
    [
        (JPEGLosslessSV1, "JPEG Lossless"),
        (JPEGLSLossless, "JPEG-LS"),
        (JPEG2000Lossless, "JPEG 2000"),
        (JPEGExtended12Bit, "JPEG Extended"),
        (JPEGBaseline8Bit, "JPEG Baseline"),
    ],
)
def test_without_the_decoder_the_message_names_file_compression_and_package(tmp_path, monkeypatch, syntax, words):
    path = write_compressed(tmp_path / "a.dcm", SMALL, b"no stream", syntax)
    monkeypatch.setitem(__import__("sys").modules, "imagecodecs", None)
    with pytest.raises(OrdinateError) as error:
        pixels_of(path)
    assert str(error.value).startswith(f"{path} (compressed as {words}")
    assert "requires imagecodecs" in str(error.value)
    assert str(error.value).endswith('pip install "ordinate[dicom]"')


def test_a_frame_may_lie_in_several_fragments(tmp_path):
    stream = lossless_jpeg.encode(SMALL, 16)
    path = write_compressed(tmp_path / "a.dcm", SMALL, stream, JPEGLosslessSV1)
    file = pydicom.dcmread(path)
    file.PixelData = encapsulate([stream], fragments_per_frame=5)
    file.save_as(path)
    np.testing.assert_array_equal(pixels_of(path), SMALL)


@pytest.mark.parametrize("kind", ["RGB", "YBR_FULL_422"])
def test_the_markers_of_a_jpeg_say_its_colours_where_they_contradict_the_file(tmp_path, kind):
    colour = np.full((16, 16, 3), (200, 90, 30), dtype=np.uint8)
    written = io.BytesIO()
    Image.fromarray(colour).save(written, "JPEG", quality=100)
    path = write_compressed(tmp_path / "a.dcm", colour, written.getvalue(), JPEGBaseline8Bit, kind)
    shown = np.asarray(ImageFiles([path]).open(0)).astype(int)
    assert np.abs(shown - colour).max() <= 2


def test_a_compression_without_a_decoder_is_named(tmp_path):
    path = write_compressed(tmp_path / "a.dcm", SMALL, b"no stream", MPEG2MPML)
    with pytest.raises(OrdinateError, match=r"a\.dcm: is compressed as MPEG2 .*, which cannot be read; save"):
        pixels_of(path)


def test_a_stream_of_another_size_is_damage(tmp_path):
    path = write_compressed(tmp_path / "a.dcm", SMALL, lossless_jpeg.encode(SMALL[:, :5], 16), JPEGLosslessSV1)
    with pytest.raises(ValueError, match=r"\(8, 5, 1\), the file says \(8, 6, 1\)"):
        pixels_of(path)


def test_a_compressed_file_that_ends_early_is_damage(tmp_path):
    path = write_compressed(tmp_path / "a.dcm", SMALL, lossless_jpeg.encode(SMALL, 16), JPEGLosslessSV1)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match="it ends early"):
        pixels_of(path)


@pytest.mark.parametrize("channels", [2, 4])
def test_other_numbers_of_channels_are_named(tmp_path, channels):
    path = write_dicom(tmp_path / "a.dcm", SamplesPerPixel=channels)
    with pytest.raises(OrdinateError, match=rf"a\.dcm: got {channels} values per pixel \(MONOCHROME2\), expected 1"):
        pixels_of(path)


@pytest.mark.parametrize(
    ("name", "frames"), [("badVR", "1A"), ("rtdose", "15"), ("SC_rgb_rle_2frame", "2"), ("examples_ybr_color", "30")]
)
def test_the_number_of_frames_is_one(name, frames):
    with pytest.raises(OrdinateError, match=f"a: got {frames} frames, expected one image per file; save every frame"):
        check_one_frame(read_dicom(FILES / f"{name}.dcm"), "a")


@pytest.mark.parametrize("name", ["rtstruct", "ExplVR_LitEndNoMeta", "ExplVR_BigEndNoMeta"])
def test_files_without_a_preamble_are_dicom(name):
    content = (FILES / f"{name}.dcm").read_bytes()
    assert is_dicom(content)
    assert read_dicom(io.BytesIO(content)).SOPClassUID.name.startswith("RT ")
    assert read_dicom(FILES / f"{name}.dcm").SOPClassUID.name.startswith("RT ")


@pytest.mark.parametrize("content", [b"", b"grade,path\n", b"\x89PNG\r\n\x1a\n" + bytes(200), b"II*\0" + bytes(200)])
def test_other_files_are_no_dicom(content):
    assert not is_dicom(content)


@pytest.mark.parametrize(("entries", "bits"), [(256, 8), (4096, 8), (4096, 16), (2**16, 8), (1, 8)])
@pytest.mark.parametrize("first", [0, 5, -5])
def test_tables_are_looked_up_one_by_one(entries, bits, first):
    numbers = np.random.default_rng(0).integers(0, 2**bits, entries).astype(np.uint16)
    values = np.concatenate([np.arange(-10, 300), [4000, 4095, 4100, 65535, 10**6]])
    expected = [int(numbers[min(max(value - first, 0), entries - 1)]) for value in values]
    assert looked_up(values, first, numbers).tolist() == expected
    assert looked_up(values.astype(np.float64), first, numbers).tolist() == expected


def with_table(values, first, data, *, bits=16, vr="US", **elements):
    table = Dataset()
    table.add_new("LUTDescriptor", "SS" if first < 0 else "US", [len(values), first, bits])
    table.add_new("LUTData", vr, data)
    file = Dataset()
    for name, value in elements.items():
        setattr(file, name, value)
    file.ModalityLUTSequence = [table]
    return file


@pytest.mark.parametrize("vr", ["US", "OW"])
def test_values_are_rescaled_by_a_table(vr):
    entries = [0, 7, 9, 4000]
    data = entries if vr == "US" else np.array(entries, "<u2").tobytes()
    found = rescaled(np.array([-3, -2, -1, 0, 1, 9], dtype=np.int16), with_table(entries, -2, data, vr=vr))
    assert found.tolist() == [0, 0, 7, 9, 4000, 4000]


def test_values_are_rescaled_by_the_functional_group_of_a_file_of_the_multi_frame_kind():
    transformation, group, file = Dataset(), Dataset(), Dataset()
    transformation.RescaleSlope, transformation.RescaleIntercept = 2, -100
    group.PixelValueTransformationSequence = [transformation]
    file.SharedFunctionalGroupsSequence = [group]
    assert rescaled(np.array([0, 60]), file).tolist() == [-100, 20]


@pytest.mark.parametrize(
    ("stored", "elements", "expected"),
    [
        ([0, 5, 9], {}, [False, False, False]),
        ([0, 5, 9], {"PixelPaddingValue": 5}, [False, True, False]),
        ([0, 5, 9], {"PixelPaddingValue": 5, "PixelPaddingRangeLimit": 9}, [False, True, True]),
        ([0, 5, 9], {"PixelPaddingValue": 9, "PixelPaddingRangeLimit": 5}, [False, True, True]),
        ([-2000, 5, 9], {"PixelPaddingValue": 63536}, [True, False, False]),
        ([-2000, 5, 9], {"PixelPaddingValue": -2000}, [True, False, False]),
    ],
)
def test_padding_is_a_value_or_a_range(stored, elements, expected):
    file = Dataset()
    for name, value in elements.items():
        file.add_new(name, "SS" if value < 0 else "US", value)
    assert padding(np.array(stored, dtype=np.int16), file).tolist() == expected


def test_padding_of_floats_has_an_element_of_its_own():
    file = Dataset()
    file.FloatPixelPaddingValue = -1.5
    assert padding(np.array([-1.5, 0, 2], dtype=np.float32), file).tolist() == [True, False, False]
