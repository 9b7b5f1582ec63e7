"""DICOM files become the pictures that a viewer shows."""

import io

import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import ExplicitVRLittleEndian, JPEGLosslessSV1, SecondaryCaptureImageStorage, generate_uid

from ordinate.cli import main
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.grey_windows import windowed
from ordinate.errors import OrdinateError
from tests.data import lossless_jpeg
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


def write_compressed(path, stored, stream, syntax, kind="MONOCHROME2", **elements):
    """Write a file whose pixels are a stream that another program has compressed."""
    write_dicom(path, stored, kind, **elements)
    file = pydicom.dcmread(path)
    file.file_meta.TransferSyntaxUID = syntax
    file.PixelData = encapsulate([stream])
    file["PixelData"].VR = "OB"
    file.save_as(path)
    return path


def palette(entries, first=0, bits=8):
    """Return the elements of a palette, whose blue is reversed."""
    elements = {}
    for channel, numbers in (("Red", entries), ("Green", entries), ("Blue", entries[::-1])):
        elements[f"{channel}PaletteColorLookupTableDescriptor"] = [len(entries) % 2**16, first, bits]
        elements[f"{channel}PaletteColorLookupTableData"] = np.array(numbers, dtype=f"<u{bits // 8}").tobytes()
    return elements


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


@pytest.mark.parametrize("kind", ["MONOCHROME1", "MONOCHROME2"])
@pytest.mark.parametrize("value", [0, 4095])
@pytest.mark.parametrize("window", [{}, {"WindowCenter": 2048, "WindowWidth": 1000}])
def test_padding_is_black_and_not_among_the_percentiles(tmp_path, kind, value, window):
    stored = STORED.clip(1, 4094)
    framed = np.pad(stored, 5, constant_values=value)
    path = write_dicom(tmp_path / "a.dcm", framed, kind, PixelPaddingValue=value, **window)
    plain = pixels(write_dicom(tmp_path / "b.dcm", stored, kind, **window))
    np.testing.assert_array_equal(pixels(path), np.pad(plain, 5))


def test_an_image_that_is_all_padding_is_black(tmp_path):
    stored = np.full((4, 4), 9, dtype=np.uint16)
    assert not pixels(write_dicom(tmp_path / "a.dcm", stored, "MONOCHROME1", PixelPaddingValue=9)).any()


@pytest.mark.parametrize("function", ["LINEAR_EXACT", "SIGMOID"])
def test_the_function_of_a_window_is_that_of_the_file(tmp_path, function):
    elements = {"WindowCenter": 2000, "WindowWidth": 900, "VOILUTFunction": function}
    found = pixels(write_dicom(tmp_path / "a.dcm", **elements))
    expected = windowed(STORED.astype(float), 2000, 900, function)
    np.testing.assert_array_equal(found, (255 * expected).round())
    assert (found != pixels(write_dicom(tmp_path / "b.dcm", **elements | {"VOILUTFunction": "LINEAR"}))).any()


def test_a_slope_below_zero_does_not_invert_a_window(tmp_path):
    path = write_dicom(tmp_path / "a.dcm", RescaleSlope=-1, RescaleIntercept=4095, WindowCenter=2048, WindowWidth=4096)
    shown = pixels(path).astype(int)
    assert (np.diff(shown.ravel()[np.argsort(STORED, axis=None)]) <= 0).all()  # High values stand for low ones.


def grey_table(entries, first, bits):
    table = Dataset()
    table.add_new("LUTDescriptor", "US", [len(entries), first, bits])
    table.add_new("LUTData", "US", entries)
    return [table]


@pytest.mark.parametrize(
    ("bits", "largest", "white"),
    [(8, 255, 255), (12, 4095, 4095), (16, 65535, 65535), (10, 500, 1023), (16, 4095, 4095)],
)
def test_a_table_of_grey_levels_comes_before_a_window(tmp_path, bits, largest, white):
    entries = (np.linspace(0, 1, 3000) ** 2 * largest).astype(int).tolist()
    elements = {"VOILUTSequence": grey_table(entries, 500, bits), "WindowCenter": 5, "WindowWidth": 2}
    found = pixels(write_dicom(tmp_path / "a.dcm", RescaleSlope=2, RescaleIntercept=-300, **elements))
    chosen = np.array(entries)[(2 * STORED.astype(int) - 300 - 500).clip(0, 2999)]
    np.testing.assert_array_equal(found, (255 * chosen / white).round())


def test_a_frame_of_the_multi_frame_kind_has_its_window_in_a_functional_group(tmp_path):
    window, group = Dataset(), Dataset()
    window.WindowCenter, window.WindowWidth = [1000, 7], [2001, 9]
    group.FrameVOILUTSequence = [window]
    plain = write_dicom(tmp_path / "a.dcm", WindowCenter=1000, WindowWidth=2001)
    grouped = write_dicom(tmp_path / "b.dcm", NumberOfFrames=1, PerFrameFunctionalGroupsSequence=[group])
    np.testing.assert_array_equal(pixels(grouped), pixels(plain))


def test_a_map_of_floats_is_read_and_what_is_no_number_is_black(tmp_path):
    stored = (STORED / 4096).astype(np.float32)
    path = write_dicom(tmp_path / "a.dcm", STORED)
    file = pydicom.dcmread(path)
    del file.PixelData
    file.BitsAllocated = 32
    stored[3, 4] = np.nan
    file.FloatPixelData = stored.tobytes()
    file.save_as(path)
    shown = pixels(path)
    assert shown[3, 4] == 0
    low, high = np.nanpercentile(stored, [0.5, 99.5])
    expected = np.nan_to_num(255 * ((stored - low) / (high - low)).clip(0, 1)).round()
    assert np.abs(shown - expected).max() <= 1


COLOURS = np.random.default_rng(0).integers(0, 256, (8, 6, 3)).astype(np.uint8)


def test_planes_of_colour_are_the_same_colours(tmp_path):
    path = write_dicom(tmp_path / "a.dcm", COLOURS, "RGB", PlanarConfiguration=1)
    file = pydicom.dcmread(path)
    file.PixelData = COLOURS.transpose(2, 0, 1).tobytes()
    file.save_as(path)
    np.testing.assert_array_equal(pixels(path), COLOURS)


def test_luminance_and_chrominance_become_rgb(tmp_path):
    red, green, blue = np.moveaxis(COLOURS.astype(float), -1, 0)
    luminance = 0.299 * red + 0.587 * green + 0.114 * blue
    parts = [luminance, 128 + (blue - luminance) / 1.772, 128 + (red - luminance) / 1.402]
    stored = np.stack(parts, axis=-1).round().clip(0, 255).astype(np.uint8)
    found = pixels(write_dicom(tmp_path / "a.dcm", stored, "YBR_FULL")).astype(int)
    assert np.abs(found - COLOURS).max() <= 2


@pytest.mark.parametrize("kind", ["HSV", "YBR_PARTIAL_422", "a\nb"])
def test_other_colours_are_named_in_one_line(tmp_path, kind):
    path = write_dicom(tmp_path / "a.dcm", COLOURS, kind)
    with pytest.raises(OrdinateError, match=r"a\.dcm: got colours as .*, expected RGB or YBR_FULL") as error:
        pixels(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("bits", "factor"), [(8, 1), (16, 1), (16, 257)])
@pytest.mark.parametrize(("entries", "first"), [(256, 0), (4096, 0), (1000, 50)])
def test_a_palette_gives_colours_in_8_or_16_bits(tmp_path, bits, factor, entries, first):
    levels = np.random.default_rng(0).integers(0, 256, entries)
    stored = STORED if entries > 256 else (STORED % 256).astype(np.uint8)
    elements = palette(levels * factor, first, bits)
    found = pixels(write_dicom(tmp_path / "a.dcm", stored, "PALETTE COLOR", **elements))
    chosen = (stored.astype(int) - first).clip(0, entries - 1)
    np.testing.assert_array_equal(found, np.stack([levels[chosen], levels[chosen], levels[::-1][chosen]], axis=-1))


def test_a_palette_in_segments_is_expanded(tmp_path):
    elements = {}
    for channel in ("Red", "Green", "Blue"):
        elements[f"{channel}PaletteColorLookupTableDescriptor"] = [256, 0, 16]
        segments = np.array([0, 2, 0, 300, 1, 254, 65535], dtype="<u2")  # Two entries, then a line to the last one.
        elements[f"Segmented{channel}PaletteColorLookupTableData"] = segments.tobytes()
    stored = np.arange(256, dtype=np.uint8).reshape(16, 16)
    found = pixels(write_dicom(tmp_path / "a.dcm", stored, "PALETTE COLOR", **elements))
    line = np.concatenate([[0, 300], 300 + (65535 - 300) * np.arange(1, 255) / 254])
    assert np.abs(found[..., 1].ravel() - (line // 256)).max() <= 1


def test_a_compressed_file_is_the_same_picture(tmp_path):
    stream = lossless_jpeg.encode(STORED, 12)
    elements = {"BitsStored": 12, "HighBit": 11, "WindowCenter": 2048, "WindowWidth": 1000}
    path = write_compressed(tmp_path / "a.dcm", STORED, stream, JPEGLosslessSV1, "MONOCHROME1", **elements)
    plain = write_dicom(tmp_path / "b.dcm", STORED, "MONOCHROME1", **elements)
    np.testing.assert_array_equal(pixels(path), pixels(plain))
    path.write_bytes(path.read_bytes().replace(stream[-60:-20], bytes(40)))
    assert pixels(path).shape == STORED.shape  # A stream has no checksum.
    path.write_bytes(path.read_bytes().replace(b"\xff\xda", b"\xff\xff"))
    with pytest.raises(OrdinateError, match=r"a\.dcm: is damaged or truncated: "):
        pixels(path)


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
