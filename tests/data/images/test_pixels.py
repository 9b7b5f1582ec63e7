import zipfile

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

import ordinate
from ordinate import ImageOptions, OTDClassifier
from ordinate.data import decoded
from ordinate.data.decoded import require_readable
from ordinate.data.images.files import ImageFiles
from ordinate.data.images.pixels import (
    Decoded,
    ImagePreprocessing,
    as_images,
    choose_preprocessing,
    decode,
)
from ordinate.errors import OrdinateError
from tests.data import pictures
from tests.data.images import png_16

COLOURS = np.random.default_rng(0).integers(0, 256, (1, 3, 40, 60)).astype(np.uint8)
PHOTO = Image.fromarray(COLOURS[0].transpose(1, 2, 0))


def test_an_image_of_the_right_size_keeps_its_pixels():
    assert (ImagePreprocessing((40, 60), 3)(PHOTO) == COLOURS[0]).all()


def test_the_crop_is_the_middle_at_the_images_own_resolution():
    assert (ImagePreprocessing((20, 30), 3, crop=(20, 30))(PHOTO) == COLOURS[0, :, 10:30, 15:45]).all()


def test_a_crop_larger_than_the_image_pads_with_black():
    padded = ImagePreprocessing((50, 60), 3, crop=(50, 60))(PHOTO)
    assert (padded[:, 5:45] == COLOURS[0]).all()
    assert (padded[:, :5] == 0).all()
    assert (padded[:, 45:] == 0).all()


def test_grey_is_the_luminance():
    weights = np.array([0.299, 0.587, 0.114])
    expected = np.tensordot(weights, COLOURS[0].astype(float), 1)
    assert np.abs(ImagePreprocessing((40, 60), 1)(PHOTO)[0] - expected).max() <= 1


def test_resizing_keeps_the_mean():
    small = ImagePreprocessing((10, 15), 3)(PHOTO)
    assert small.shape == (3, 10, 15)
    assert np.abs(small.mean(axis=(1, 2)) - COLOURS[0].mean(axis=(1, 2))).max() < 2


def test_equalising_spreads_grey_evenly_and_keeps_the_order():
    dark = Image.fromarray((np.arange(40 * 60) // 40).astype(np.uint8).reshape(40, 60))  # 0..59
    spread = ImagePreprocessing((40, 60), 1, equalize=True)(dark)[0]
    assert (spread == np.asarray(ImageOps.equalize(dark))).all()
    assert spread.min() == 0
    assert spread.max() == 255
    assert (np.diff(spread.ravel().astype(int)) >= 0).all()


def test_equalising_a_photo_changes_its_luminance_alone():
    dull = Image.fromarray((COLOURS[0].transpose(1, 2, 0) // 4 + 90).astype(np.uint8))
    after = Image.fromarray(ImagePreprocessing((40, 60), 3, equalize=True)(dull).transpose(1, 2, 0)).convert("YCbCr")
    before = dull.convert("YCbCr")
    luminance = np.asarray(after)[..., 0]
    assert np.ptp(luminance) > 2 * np.ptp(np.asarray(before)[..., 0])
    assert np.abs(np.asarray(after)[..., 1:].astype(int) - np.asarray(before)[..., 1:]).mean() < 3


def test_sixteen_bits_become_eight_by_their_range():
    values = np.array([[0, 65535], [32768, 257]], dtype=np.uint16)
    assert ImagePreprocessing((2, 2), 1)(Image.fromarray(values)).ravel().tolist() == [0, 255, 128, 1]


def test_what_is_transparent_is_black():
    faint = Image.new("RGBA", (2, 1), (200, 100, 50, 255))
    faint.putpixel((1, 0), (200, 100, 50, 0))
    assert ImagePreprocessing((1, 2), 3)(faint)[:, 0].T.tolist() == [[200, 100, 50], [0, 0, 0]]


@pytest.fixture
def many(tmp_path):
    """A zip of 300 pictures, enough for several workers."""
    drawn = pictures.draw(np.arange(300) % 3)
    paths = pictures.write(tmp_path, drawn, [f"{i}.png" for i in range(300)])
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in paths:
            archive.write(path, path.name)
    return drawn, ImageFiles([path.name for path in paths], tmp_path / "all.zip")


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_any_number_of_workers_reads_the_same(many, workers):
    drawn, files = many
    files.open(3)  # opened here first, the zip is not read at one place by all
    read, failures = decode(files, choose_preprocessing(files), workers)
    assert failures == {}
    assert (read == drawn).all()


def test_pixels_past_the_limit_lie_on_disk(many, monkeypatch):
    monkeypatch.setattr(decoded, "MAX_BYTES_IN_MEMORY", 1000)
    read, _ = decode(many[1], ImagePreprocessing((16, 16), 1), 2)
    assert isinstance(read, np.memmap)
    assert (read == many[0]).all()


def test_what_cannot_be_read_is_named_and_black(tmp_path):
    paths = pictures.write(tmp_path, pictures.draw([0] * 20), [f"{i}.png" for i in range(20)])
    for path in paths[3:15]:
        path.write_bytes(b"")
    read, failures = decode(ImageFiles(paths), ImagePreprocessing((16, 16), 1), 0)
    assert sorted(failures) == list(range(3, 15))
    assert (read[3:15] == 0).all()
    assert read[:3].any()
    with pytest.raises(OrdinateError) as caught:
        require_readable(failures, 20)
    assert str(caught.value).startswith(f"X: 12 of 20 images cannot be read: {paths[3]}: is empty, expected an image; ")
    assert str(caught.value).endswith("; and 2 more")


def test_what_was_decoded_is_not_decoded_again_and_only_taken_as_it_was():
    done = Decoded(pictures.draw([0, 1]), ImagePreprocessing((16, 16), 1))
    assert decode(done, done.preprocessing)[0] is done.pixels
    with pytest.raises(OrdinateError, match="X: got samples decoded with"):
        decode(done, ImagePreprocessing((16, 16), 1, equalize=True))


@pytest.mark.parametrize(
    ("shapes", "options", "size"),
    [
        ([(40, 60)] * 3, {}, (40, 60)),
        ([(40, 60), (50, 60)], {}, (149, 224)),
        ([(300, 600)] * 2, {}, (112, 224)),
        ([(300, 600)] * 2, {"crop": (120, 200)}, (120, 200)),
        ([(300, 600)] * 2, {"crop": (300, 300)}, (224, 224)),
        ([(300, 600)] * 2, {"size": 64}, (64, 64)),
        ([(300, 600)] * 2, {"size": (32, 48)}, (32, 48)),
    ],
)
def test_the_size_follows_the_images_where_none_is_given(tmp_path, shapes, options, size):
    for index, (height, width) in enumerate(shapes):
        Image.new("L", (width, height)).save(tmp_path / f"{index}.png")
    files = ImageFiles([tmp_path / f"{index}.png" for index in range(len(shapes))])
    chosen = choose_preprocessing(files, **options)
    assert (chosen.size, chosen.channels) == (size, 1)


def test_one_colour_image_makes_all_colour():
    grey = np.repeat(pictures.draw([0] * 5), 3, axis=1)
    assert choose_preprocessing(grey).channels == 1
    grey[3] = COLOURS[0, :, :16, :16]
    assert choose_preprocessing(grey).channels == 3


@pytest.mark.parametrize(
    "array",
    [
        COLOURS,
        COLOURS.transpose(0, 2, 3, 1),
        COLOURS / 255,
        (COLOURS / 255).astype(np.float32).transpose(0, 2, 3, 1),
        COLOURS.astype(np.int64),
    ],
    ids=["uint8", "channels last", "floats", "float32, channels last", "int64"],
)
def test_arrays_of_images_come_in_several_forms(array):
    assert as_images(array).dtype == np.uint8
    assert (as_images(array) == COLOURS).all()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 5, 8, 8)), r"expected images of 1 or 3 channels"),
        (np.zeros((2, 8, 8)), r"X: got shape \(2, 8, 8\), expected images"),
        (np.zeros((0, 3, 8, 8)), r"X: got shape \(0, 3, 8, 8\)"),
        (np.full((1, 3, 2, 2), 7.5), r"X: got float64 from 7.5 to 7.5, expected uint8, or floats from 0 to 1"),
        (np.full((1, 3, 2, 2), -1), r"X: got int64 from -1 to -1"),
        (np.full((1, 3, 2, 2), np.nan), r"not finite"),
    ],
)
def test_other_arrays_are_refused(array, message):
    with pytest.raises(OrdinateError, match=message):
        as_images(array)


# more than 8 bits, and pictures that lie on their side

DEEP = {
    "12 bits of 16": (np.uint16, 100, 3900),
    "8 bits of 16": (np.uint16, 3, 250),
    "16 bits": (np.uint16, 0, 65535),
    "floats": (np.float32, -700.0, 1100.0),
    "shares": (np.float32, 0.2, 0.7),
}


def write_deep(folder, kind, count=6):
    """Write gradients of a kind, the first without its largest values, and return the files and the values."""
    dtype, low, high = DEEP[kind]
    rows = np.linspace(low, high, 256).astype(dtype)
    values = np.stack([np.tile(rows, (8, 1))] * count)
    values[0] = np.minimum(values[0], dtype((low + high) / 2))
    paths = []
    for place, each in enumerate(values):
        paths.append(str(folder / f"{place}.tif"))
        Image.fromarray(each).save(paths[-1])
    return ImageFiles(paths), values


@pytest.mark.parametrize("kind", DEEP)
def test_images_of_more_bits_keep_their_levels_in_one_range_for_all(kind, tmp_path):
    files, values = write_deep(tmp_path, kind)
    chosen = choose_preprocessing(files)
    low, high = float(values.min()), float(values.max())
    assert chosen.intensity == (low, high)
    expected = ((values.astype(float) - low) / (high - low) * 255).round()
    for place in range(len(files)):
        np.testing.assert_allclose(chosen.read(files, place)[0], expected[place], rtol=0, atol=1)
    assert choose_preprocessing(files, size=(8, 256), channels=1).intensity == (low, high)


def test_values_beyond_those_of_training_are_its_ends(tmp_path):
    take = ImagePreprocessing((1, 4), 1, intensity=(100.0, 300.0))
    beyond = Image.fromarray(np.array([[0.0, 100.0, 500.0, np.nan]], dtype=np.float32))
    assert take(beyond)[0, 0].tolist() == [0, 0, 255, 0]


@pytest.mark.parametrize("kind", ["12 bits of 16", "8 bits of 16", "floats"])
def test_images_of_more_bits_than_in_training_are_refused_where_their_range_is_open(kind, tmp_path):
    files, _ = write_deep(tmp_path, kind)
    with pytest.raises(OrdinateError, match=r"image: got values from .*, expected 8 bits, as in training"):
        ImagePreprocessing((8, 256), 1).read(files, 1)
    _, failures = decode(files, ImagePreprocessing((8, 256), 1), 0)
    assert len(failures) == len(files)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_colours_of_12_bits_in_16_share_one_range_in_training_and_prediction(suffix, tmp_path):
    colours = np.random.default_rng(0).integers(50, 4096, (4, 9, 11, 3)).astype(np.uint16)
    colours //= np.array([1, 2, 4, 8], dtype=np.uint16)[:, None, None, None]
    for number, each in enumerate(colours):
        path = tmp_path / f"{number}.{suffix}"
        path.write_bytes(png_16.encode(each)) if suffix == "png" else tifffile.imwrite(path, each, photometric="rgb")
    files = ImageFiles([tmp_path / f"{number}.{suffix}" for number in range(4)])
    chosen = choose_preprocessing(files[:3])
    low, high = chosen.intensity
    assert (chosen.channels, low, high) == (3, colours[:3].min(), colours[:3].max())
    expected = (255 * ((colours - low) / (high - low)).clip(0, 1)).round()
    for number in range(4):
        assert np.abs(chosen.read(files, number) - np.moveaxis(expected[number], -1, 0)).max() <= 1


def test_grey_that_is_stored_as_colour_is_read_as_grey_is(tmp_path):
    grey = np.random.default_rng(0).integers(0, 4096, (3, 9, 11)).astype(np.uint16)
    for number, each in enumerate(grey):
        (tmp_path / f"grey{number}.png").write_bytes(png_16.encode(each))
        (tmp_path / f"colour{number}.png").write_bytes(png_16.encode(np.stack([each] * 3, axis=-1)))
    as_grey, as_colour = (ImageFiles(sorted(tmp_path.glob(f"{kind}*.png"))) for kind in ("grey", "colour"))
    chosen = choose_preprocessing(as_grey)
    assert chosen == choose_preprocessing(as_colour)
    assert chosen.channels == 1
    for number in range(3):
        np.testing.assert_array_equal(chosen.read(as_grey, number), chosen.read(as_colour, number))


def test_the_range_of_deep_images_is_learned_where_the_first_has_8_bits(tmp_path):
    files, values = write_deep(tmp_path, "12 bits of 16")
    Image.new("L", (256, 8)).save(tmp_path / "first.png")
    mixed = ImageFiles([tmp_path / "first.png", *files.paths])
    assert choose_preprocessing(mixed).intensity == (values.min(), values.max())


def test_eight_bits_learn_no_range():
    assert choose_preprocessing(COLOURS).intensity is None


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp"])
def test_images_are_turned_as_they_say(suffix, tmp_path):
    upright = np.zeros((20, 30), dtype=np.uint8)
    upright[:, :10] = 200
    for tag, turn in ((1, 0), (3, 180), (6, 90), (8, 270)):
        stored = Image.fromarray(upright).rotate(turn, expand=True)
        exif = Image.Exif()
        exif[0x0112] = tag
        stored.save(tmp_path / f"{tag}.{suffix}", exif=exif, **({"quality": 95} if suffix in ("jpg", "webp") else {}))
        read = np.asarray(ImageFiles([tmp_path / f"{tag}.{suffix}"]).open(0).convert("L")).astype(int)
        assert read.shape == (20, 30)
        assert np.abs(read - upright).mean() < 5


def test_a_model_keeps_the_range_of_its_training(tmp_path):
    files, _ = write_deep(tmp_path, "floats")
    model = OTDClassifier(epochs=1, embedding_dim=4, encoder="test_resnet", data=ImageOptions(size=16), random_state=0)
    model.fit(files, [0, 1, 2, 0, 1, 2])
    assert any("values from -700 to 1100 become 0 to 255" in note for note in model.notes_)
    model.save(tmp_path / "model")
    loaded = ordinate.load(tmp_path / "model")
    assert loaded.reader_.preprocessing == model.reader_.preprocessing
    np.testing.assert_array_equal(loaded.transform(files[1:3]), model.transform(files[1:3]))
