"""A tree of tiny EDF files in TUAB's layout."""

import datetime

import numpy as np
from edfio import Edf, EdfSignal, Patient

from ordinate_papers.datasets.tuab import CHANNELS

RATE = 250


def write(path, age, *, seconds=3, rate=RATE, names=None, seed=0):
    """Write a recording whose channels are sines of 2, 3, ... Hz in microvolts, the electrodes in alphabetic order."""
    names = [f"EEG {name}-REF" for name in sorted(CHANNELS)] if names is None else names
    time = np.arange(seconds * rate) / rate
    signals = [
        EdfSignal(
            20 * np.sin(2 * np.pi * (2 + place) * time + seed),
            sampling_frequency=rate,
            label=name,
            physical_dimension="uV",
            physical_range=(-100, 100),
        )
        for place, name in enumerate(names)
    ]
    patient = Patient(code=path.name.split("_")[0], sex="F", additional=() if age is None else (f"Age:{age}",))
    path.parent.mkdir(parents=True, exist_ok=True)
    Edf(signals, patient=patient, recording=None, starttime=datetime.time(9)).write(path)
    return path


def plant(folder, subjects=20):
    """Write ages 20, 21, ... of subjects, every tenth of them in eval, one of them twice, and two with a pathology."""
    for place in range(subjects):
        side = "eval" if place % 10 == 9 else "train"
        name = f"aaaaaa{place:02}_s001_t000.edf"
        write(folder / "edf" / side / "normal" / "01_tcp_ar" / name, 20 + place, seed=place)
    write(folder / "edf" / "train" / "normal" / "01_tcp_ar" / "aaaaaa00_s002_t000.edf", 99)
    for side in ("train", "eval"):
        write(folder / "edf" / side / "abnormal" / "01_tcp_ar" / f"zzzzzz{len(side):02}_s001_t000.edf", 70)
    return folder
