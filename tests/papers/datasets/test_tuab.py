"""TUAB's recordings, generated in its layout: channels, units, rate, ages and split, and files that cannot be read."""

import sys

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.tuab import CHANNELS, read_recording, read_tuab
from tests.papers.datasets import recordings


@pytest.fixture(scope="module")
def tuab(tmp_path_factory):
    return recordings.plant(tmp_path_factory.mktemp("tuab"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "aaaaaaaa_s001_t000.edf"


def sines(rate, seconds, start=0.0, seed=0):
    """What a generated recording holds, in the order of CHANNELS."""
    time = start + np.arange(int(seconds * rate)) / rate
    return np.stack([20 * np.sin(2 * np.pi * (2 + sorted(CHANNELS).index(name)) * time + seed) for name in CHANNELS])


def test_a_recording_is_in_microvolts_and_in_the_order_of_channels(path):
    values = read_recording(recordings.write(path, 50), sampling_rate=recordings.RATE)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, sines(250, 3), rtol=0, atol=200 / 2**16)  # what EDF's 16 bits resolve


def test_a_recording_is_resampled_to_200_hz(path):
    values = read_recording(recordings.write(path, 50))
    assert values.shape == (21, 600)
    inner = slice(60, -60)  # the ends ring
    np.testing.assert_allclose(values[:, inner], sines(200, 3)[:, inner], rtol=0, atol=0.5)


def test_electrodes_are_found_under_other_names_and_other_channels_left_out(path):
    plain = [name.title() for name in sorted(CHANNELS)]
    values = read_recording(recordings.write(path, 50, names=[*plain, "EKG1", "EEG 31-REF"]), sampling_rate=250)
    np.testing.assert_allclose(values, sines(250, 3), rtol=0, atol=200 / 2**16)


def test_normal_recordings_are_read_one_per_subject_with_their_ages(tuab):
    read = read_tuab(tuab, start=1.0, seconds=1.5)
    assert read.samples.shape == (20, 21, 300)
    assert read.labels.tolist() == list(range(20, 40))
    assert read.groups.tolist() == [f"aaaaaa{place:02}" for place in range(20)]
    assert all(group in path for group, path in zip(read.groups, read.paths, strict=True))
    assert "s001" in read.paths[0]
    inner = slice(60, -60)
    np.testing.assert_allclose(read.samples[7][:, inner], sines(200, 1.5, 1.0, seed=7)[:, inner], rtol=0, atol=0.6)


def test_a_tenth_of_the_subjects_is_to_test_and_the_seed_draws_it(tuab):
    draws = [read_tuab(tuab, start=0.0, seconds=0.1, seed=seed).splits.tolist() for seed in (0, 0, 1)]
    assert [draw.count("test") for draw in draws] == [2, 2, 2]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2]


def test_the_corpus_own_split_is_eval(tuab):
    read = read_tuab(tuab, split="corpus", start=0.0, seconds=0.1)
    assert [group for group, side in zip(read.groups, read.splits, strict=True) if side == "test"] == [
        "aaaaaa09", "aaaaaa19",
    ]  # fmt: skip


def test_files_that_cannot_be_read_are_named_and_left_out_if_asked(tmp_path):
    folder = tmp_path / "train" / "normal" / "01_tcp_ar"
    recordings.write(folder / "good_s001.edf", 40)
    recordings.write(folder / "ageless_s001.edf", None)
    recordings.write(folder / "few_s001.edf", 41, names=["EEG FP1-REF", "EEG FP2-REF"])
    recordings.write(folder / "short_s001.edf", 42, seconds=1)
    (folder / "broken_s001.edf").write_bytes((folder / "good_s001.edf").read_bytes()[:300])
    with pytest.raises(OrdinateError) as error:
        read_tuab(tmp_path, start=1.0)
    message = str(error.value)
    assert "4 of 5 files cannot be read" in message
    assert "ageless_s001.edf: its header has no age" in message
    assert "few_s001.edf: has no channel F7, " in message
    assert "short_s001.edf: lasts 1 s, expected more than the 1 s before the series" in message
    assert "broken_s001.edf: could not be read" in message
    read = read_tuab(tmp_path, start=1.0, skip_unreadable=True)
    assert read.groups.tolist() == ["good"]
    assert len(read.left_out) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "half"}, "split: got 'half', expected 'paper' or 'corpus'"),
        ({"start": -1}, "start: got -1"),
        ({"seconds": 0}, "seconds: got 0"),
        ({"sampling_rate": 0}, "sampling_rate: got 0"),
    ],
)
def test_what_cannot_be_asked_is_an_error(tmp_path, options, message):
    with pytest.raises(OrdinateError, match=message):
        read_tuab(tmp_path, **options)


def test_without_mne_the_way_out_is_named(tuab, monkeypatch):
    monkeypatch.setitem(sys.modules, "mne", None)
    with pytest.raises(OrdinateError, match=r'^EEG: requires mne .*: pip install "ordinate\[eeg\]"$'):
        read_tuab(tuab)
