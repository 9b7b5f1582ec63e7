"""Small data sets in the layout of the real ones: sentences, EEG, matrices and volumes of brains."""

import csv
import gzip

import numpy as np
import pandas as pd

from tests.data import scans
from tests.papers.datasets import recordings

WORDS = ["a", "dog", "cat", "runs", "sleeps", "rain", "again", "red", "car", "is"]
SUBJECTS = 24


def plant_pairs(data, vectors="glove100_subset/few.npz"):
    """Write 40, 8 and 8 pairs of sentences, scored by the words that they share, and vectors of their words."""
    rng = np.random.default_rng(0)
    (data / "stsb_dir").mkdir()
    for name, count in (("train", 40), ("dev", 8), ("test", 8)):
        drawn = rng.choice(WORDS, (count, 2, 4))
        shared = [len(set(first) & set(second)) for first, second in drawn]
        table = pd.DataFrame([[" ".join(one) for one in pair] for pair in drawn], columns=["sentence1", "sentence2"])
        text = table.assign(score=shared).to_csv(sep="\t", index=False, quoting=csv.QUOTE_NONE)
        (data / "stsb_dir" / f"{name}_new.tsv.gz").write_bytes(gzip.compress(text.encode()))
    if vectors is not None:
        (data / vectors).parent.mkdir(exist_ok=True)
        np.savez(data / vectors, words="\n".join(WORDS), vectors=rng.normal(size=(len(WORDS), 5)).astype(np.float16))


def plant_recordings(data):
    """Write recordings of 20 subjects, 3 s each."""
    recordings.plant(data / "tuab")


def plant_matrices(data, subjects=SUBJECTS, **columns):
    """Write a matrix (3 regions, 10 to 14 points) a subject, of ages 36 and up."""
    (data / "hcp_aging").mkdir()
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"path": [f"{place}.npy" for place in range(subjects)], "age": 36 + np.arange(subjects) % 8})
    for name, age in zip(table["path"], table["age"], strict=True):
        np.save(data / "hcp_aging" / name, rng.normal(age / 40, 1, (3, 10 + age % 5)))
    table.assign(**columns).to_csv(data / "hcp_aging" / "labels.csv", index=False)


def plant_volumes(data):
    """Write a volume of 12 mm a side a subject, of ages 42 and up."""
    ages, subjects = 42 + np.arange(SUBJECTS) % 8, 1_000_000 + np.arange(SUBJECTS)
    names = [f"{subject}_20252_2_0/T1/T1_brain_to_MNI.nii.gz" for subject in subjects]
    scans.write(data / "uk_biobank", scans.draw(ages, side=12), names)
    pd.DataFrame({"eid": subjects, "age": ages}).to_csv(data / "uk_biobank" / "labels.csv", index=False)
