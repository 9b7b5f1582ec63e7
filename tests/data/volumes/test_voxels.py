"""Volumes from NIfTI files and arrays: orientation, spacing, range, size; what cannot be read is named."""

import gzip
import sys

import nibabel
import numpy as np
import pytest

from ordinate.data.volumes.options import VolumeOptions
from ordinate.data.volumes.reader import VolumeReader
from ordinate.data.volumes.voxels import (
    DecodedVolumes,
    VolumeFiles,
    VolumePreprocessing,
    as_volumes,
    choose_volume_preprocessing,
    decode_volumes,
)
from ordinate.errors import OrdinateError

RANDOM = np.random.default_rng(0).uniform(1, 100, (6, 8, 10)).astype(np.float32)


def save(path, values, affine=None):
    nibabel.save(nibabel.Nifti1Image(values, np.eye(4) if affine is None else affine), path)
    return path


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize(("flipped", "order"), [((), (0, 1, 2)), ((0, 2), (0, 1, 2)), ((1,), (2, 0, 1))])
def test_every_orientation_is_read_as_the_same_volume_in_ras(tmp_path, name, flipped, order):
    affine = np.zeros((4, 4))
    affine[3, 3] = 1
    for place, axis in enumerate(order):  # axis of the file -> axis of the world
        affine[axis, place] = -2.0 if place in flipped else 2.0
    values = np.flip(RANDOM.transpose(order), flipped)
    files = VolumeFiles([save(tmp_path / name, np.ascontiguousarray(values), affine)])
    np.testing.assert_array_equal(files.read(0)[0], RANDOM)
    channels, voxels, lengths = files.extent(0)
    assert (channels, voxels.tolist(), lengths.tolist()) == (1, [6, 8, 10], [2, 2, 2])


def test_resampling_to_twice_the_spacing_takes_every_second_voxel_of_a_linear_ramp(tmp_path):
    x, y, z = np.indices((9, 9, 9)).astype(np.float32)
    ramp = 1 + x + 10 * y + 100 * z
    files = VolumeFiles([save(tmp_path / "a.nii.gz", ramp, np.eye(4))])
    halved = files.read(0, (2.0, 2.0, 2.0))[0]
    assert halved.shape == (5, 5, 5)
    np.testing.assert_allclose(halved, ramp[::2, ::2, ::2], atol=1e-3)


def test_channels_lie_on_the_last_axis_of_a_file_and_the_first_of_a_volume(tmp_path):
    values = np.stack([RANDOM, 2 * RANDOM], axis=-1)
    files = VolumeFiles([save(tmp_path / "a.nii", values)])
    np.testing.assert_array_equal(files.read(0), np.stack([RANDOM, 2 * RANDOM]))
    assert files.extent(0)[0] == 2


@pytest.mark.parametrize("names", ["RGB", "RGBA"])
@pytest.mark.parametrize("suffix", ["nii", "nii.gz"])
def test_voxels_of_colour_have_a_channel_per_colour(tmp_path, names, suffix):
    colours = np.random.default_rng(0).integers(0, 256, (4, 5, 6, len(names))).astype(np.uint8)
    voxels = colours.view([(name, "u1") for name in names])[..., 0]
    files = VolumeFiles([save(tmp_path / f"a.{suffix}", voxels)])
    np.testing.assert_array_equal(files.read(0), np.moveaxis(colours[..., :3], 3, 0))
    assert files.extent(0)[0] == 3


def test_complex_voxels_are_named(tmp_path):
    files = VolumeFiles([save(tmp_path / "a.nii", RANDOM.astype(np.complex64))])
    with pytest.raises(OrdinateError, match=r"a\.nii: holds complex numbers; save their magnitude"):
        files.read(0)


def test_nan_outside_of_the_brain_is_read_as_0(tmp_path):
    values = RANDOM.copy()
    values[0] = np.nan
    read = VolumeFiles([save(tmp_path / "a.nii", values)]).read(0)[0]
    assert (read[0] == 0).all()
    np.testing.assert_array_equal(read[1:], RANDOM[1:])


# range and size


def test_the_range_is_that_of_the_voxels_that_are_not_0():
    values = np.concatenate([np.zeros(5000), np.arange(1, 1002)])  # percentiles 0.5 and 99.5 of 1..1001: 6 and 996
    scaled = VolumePreprocessing((1, 1, 6001), 1).scaled(values.reshape(1, 1, 1, -1).astype(np.float32)).ravel()
    expected = np.round(np.clip((values - 6) / 990, 0, 1).astype(np.float32) * 255)
    np.testing.assert_array_equal(scaled, expected)


@pytest.mark.parametrize("factor", [0.01, 1.0, 300.0])
def test_the_unit_of_a_volume_does_not_count(factor):
    take = VolumePreprocessing((6, 8, 10), 1)
    difference = take.scaled(factor * RANDOM[None]).astype(int) - take.scaled(RANDOM[None])
    assert abs(difference).max() <= 1  # where rounding to a level falls the other way


def test_a_given_range_is_the_same_for_all_volumes():
    take = VolumePreprocessing((1, 1, 5), 1, intensity=(-1000.0, 1000.0))
    hounsfield = np.array([-2000, -1000, 0, 1000, 3000], dtype=np.float32).reshape(1, 1, 1, 5)
    assert take.scaled(hounsfield).ravel().tolist() == [0, 0, 128, 255, 255]


def test_a_mask_keeps_its_two_values_and_a_constant_volume_is_0():
    take = VolumePreprocessing((1, 1, 3), 1)
    assert take.scaled(np.float32([[[[0, 1, 0]]]])).ravel().tolist() == [0, 255, 0]
    assert take.scaled(np.full((1, 1, 1, 3), 7.0)).ravel().tolist() == [0, 0, 0]


def test_volumes_are_cut_and_padded_around_their_centre():
    take = VolumePreprocessing((4, 8, 12), 1, intensity=(0.0, 255.0))
    values = np.random.default_rng(1).integers(1, 256, (1, 1, 6, 8, 10)).astype(np.float32)
    expected = np.pad(values[0, 0, 1:5], ((0, 0), (0, 0), (1, 1)))
    np.testing.assert_array_equal(take.read(values, 0)[0], expected)


@pytest.mark.parametrize(
    ("shapes", "options", "size", "cut"),
    [
        ([(6, 8, 10)] * 2, {}, (6, 8, 10), False),
        ([(6, 8, 10), (6, 8, 9)], {}, (100, 100, 100), False),
        ([(101, 4, 4)], {}, (100, 100, 100), True),
        ([(6, 8, 10)], {"size": 7}, (7, 7, 7), True),
        ([(182, 2, 2)], {"spacing": 2.0}, (92, 2, 2), False),
    ],
)
def test_the_size_follows_from_the_headers_and_what_is_lost_is_said(tmp_path, shapes, options, size, cut):
    for place, shape in enumerate(shapes):
        save(tmp_path / f"{place}.nii", np.zeros(shape, dtype=np.uint8))
    files = VolumeFiles(tmp_path / f"{place}.nii" for place in range(len(shapes)))
    chosen, notes = choose_volume_preprocessing(files, VolumeOptions(**options))
    assert chosen.size == size
    assert bool(notes) == cut


# decoding


def test_processes_change_nothing_and_large_sets_lie_on_disk(tmp_path, monkeypatch):
    files = VolumeFiles([save(tmp_path / f"{i}.nii.gz", RANDOM + i) for i in range(6)])
    take = VolumePreprocessing((6, 6, 6), 1)
    alone, failures = decode_volumes(files, take, workers=0)
    assert failures == {}
    np.testing.assert_array_equal(decode_volumes(files, take, workers=2)[0], alone)
    monkeypatch.setattr("ordinate.data.decoded.MAX_BYTES_IN_MEMORY", 100)
    mapped = decode_volumes(files, take, workers=0)[0]
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, alone)
    assert decode_volumes(DecodedVolumes(alone, take), take)[0] is alone
    with pytest.raises(OrdinateError, match="X: got samples decoded with"):
        decode_volumes(DecodedVolumes(alone, take), VolumePreprocessing((5, 5, 5), 1))


def test_all_files_that_cannot_be_read_are_named_with_the_reason(tmp_path):
    whole = save(tmp_path / "whole.nii", RANDOM)
    (tmp_path / "cut.nii").write_bytes(whole.read_bytes()[:700])
    (tmp_path / "cut.nii.gz").write_bytes(gzip.compress(whole.read_bytes())[:-300])
    (tmp_path / "text.nii").write_text("no volume")
    (tmp_path / "empty.nii").touch()
    save(tmp_path / "flat.nii", RANDOM[0])
    save(tmp_path / "two.nii", np.stack([RANDOM, RANDOM], axis=-1))
    save(tmp_path / "infinite.nii", np.where(RANDOM > 50, np.inf, RANDOM))
    affine = np.diag([1.0, 1.0, 0.0, 1.0])
    nibabel.save(nibabel.Nifti2Image(RANDOM, np.eye(4)), tmp_path / "flattened.nii")
    flattened = nibabel.load(tmp_path / "flattened.nii")
    flattened.header.set_sform(affine, code=1)
    (tmp_path / "flattened.nii").write_bytes(flattened.header.binaryblock + bytes(4) + RANDOM.tobytes(order="F"))
    reasons = {
        "cut.nii": "damaged or truncated", "cut.nii.gz": "damaged or truncated", "text.nii": "no NIfTI volume",
        "empty.nii": "is empty", "flat.nii": "has shape", "two.nii": "has 2 channels, expected 1",
        "infinite.nii": "infinity", "absent.nii": "no such file",
        "flattened.nii": "does not give the orientation of its axes",
    }  # fmt: skip
    files = VolumeFiles([whole, *(tmp_path / name for name in reasons)])
    found = decode_volumes(files, VolumePreprocessing((6, 8, 10), 1), workers=0)[1]
    assert list(found) == list(range(1, 10))
    for (name, reason), said in zip(reasons.items(), found.values(), strict=True):
        assert said.startswith(str(tmp_path / name))
        assert reason in said
    with pytest.raises(OrdinateError, match=r"X: 9 of 10 volumes cannot be read: .*cut\.nii: .*; .*text\.nii"):
        VolumeReader.fit(files, VolumeOptions(size=8, workers=0))


def test_the_reader_learns_the_mean_and_deviation_of_the_training_voxels_and_keeps_them():
    array = np.random.default_rng(2).uniform(0, 1, (5, 2, 4, 4, 4))
    reader, decoded = VolumeReader.fit(array, VolumeOptions(intensity=(0, 1)))
    shares = decoded.pixels / 255
    np.testing.assert_allclose(reader.mean, shares.mean((0, 2, 3, 4)), rtol=1e-12)
    np.testing.assert_allclose(reader.scale, shares.std((0, 2, 3, 4)), rtol=1e-12)
    again = VolumeReader.from_dict(reader.to_dict())
    assert vars(again) == {name: value for name, value in vars(reader).items() if name not in ("stream", "draws")}
    np.testing.assert_array_equal(again.transform(array).numpy(), decoded.pixels)


@pytest.mark.parametrize("array", [np.zeros((2, 3, 4, 5)), np.full((1, 1, 2, 2, 2), np.nan), np.zeros((0, 1, 2, 2, 2))])
def test_arrays_that_are_no_volumes_are_refused(array):
    with pytest.raises(OrdinateError, match="X: got"):
        as_volumes(array)


def test_without_monai_the_way_out_is_named(monkeypatch, tmp_path):
    save(tmp_path / "a.nii", RANDOM)
    monkeypatch.setitem(sys.modules, "monai.transforms", None)
    with pytest.raises(OrdinateError, match=r'pip install "ordinate\[volumes\]"'):
        VolumeFiles([tmp_path / "a.nii"]).read(0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": (3, 4)}, r"size: got \(3, 4\), expected \(depth, height, width\) in voxels"),
        ({"size": 0}, "size: got 0"),
        ({"size": 2.5}, "size: got 2.5"),
        ({"spacing": -1.0}, "spacing: got -1.0"),
        ({"spacing": "2"}, "spacing: got '2', expected a length in mm"),
        ({"intensity": (5, 5)}, r"intensity: got \(5, 5\), expected \(low, high\)"),
        ({"workers": -1}, "workers: got -1"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(OrdinateError, match=message):
        VolumeOptions(**options)


def test_options_are_the_same_from_json():
    expected = VolumeOptions((4, 5, 6), (2.0, 2.0, 2.0), (0.0, 1.0))
    assert VolumeOptions(size=[4, 5, 6], spacing=2, intensity=[0, 1]) == expected
