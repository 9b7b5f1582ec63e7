"""Time and memory of the losses beside what else there is, up to the largest batch that time and memory allow."""

from statistics import median
from typing import Any

import torch
from ordinate_papers.bench.climb import Climb
from ordinate_papers.bench.contenders import LOSSES, PRODUCTS, SUPCON, TRIPLET, line_up, published_name
from ordinate_papers.bench.measure import Setting, rounds

from gpu_kernels import short
from gpu_record import Record

SIZES, SMOKE_SIZES = [2**power for power in range(9, 18)], [64]
REPEATS, FEW_REPEATS, MANY = 10, 3, 16384  # few, and one contender after the other, from so many samples on
SHARE, SHARE_OF_OTHERS = 0.5, 0.04  # of the time left, that a contender may take at one size


def measure(dim: int, dtype: torch.dtype, device: str, record: Record, *, smoke: bool) -> None:
    """Add a row per size and contender that gets so far, and why others do not."""
    setting = Setting(dim, dtype, device)
    names = [name for name in reversed(line_up(list(LOSSES))) if name != TRIPLET]  # what losses are compared with first
    climbs = [Climb(name, setting) for name in names]
    for n in SMOKE_SIZES if smoke else SIZES:
        repeats = 1 if smoke else REPEATS if n < MANY else FEW_REPEATS
        seconds: dict[str, float] = {}
        for group in [climbs] if n < MANY else [[climb] for climb in climbs]:
            racing = [climb for climb in group if _fits(climb, n, repeats, record) and climb.reach(n)]
            # the first pass of a loss built its kernels, and says little; that of another may rule out the repeats
            racing = [climb for climb in racing if climb.name in LOSSES or _fits(climb, n, repeats, record)]
            seconds |= _medians(racing, n, setting, repeats)
            for climb in racing:
                if climb.name in seconds:
                    climb.settle(seconds[climb.name])
                    record.add(**_row(climb, n, setting, seconds))
    for climb in climbs:
        if climb.stopped is not None:
            record.note(f"{climb.name} ends before {climb.stopped}")


def _fits(climb: Climb, n: int, repeats: int, record: Record) -> bool:
    """Return whether a first pass, a warm-up and the repeats leave time for the others; stop the climb if not."""
    if climb.stopped is None and climb.probes:
        expected, left = (2 + repeats) * climb.seconds(n), record.seconds_left
        if expected > left * (SHARE if climb.name in (*LOSSES, PRODUCTS) else SHARE_OF_OTHERS):
            climb.stopped = f"n = {n}: {2 + repeats} passes take about {expected:.1f} s, and {left:.0f} s are left"
    return climb.stopped is None


def _medians(racing: list[Climb], n: int, setting: Setting, repeats: int) -> dict[str, float]:
    """Return the median seconds of interleaved passes; where one fails they run one after the other."""
    try:
        taken = rounds([climb.name for climb in racing], n, setting, repeats)
        return {name: median(seconds) for name, seconds in taken.items()}
    except RuntimeError as error:
        if len(racing) > 1:
            return {name: of for climb in racing for name, of in _medians([climb], n, setting, repeats).items()}
        racing[0].stopped = f"n = {n}: {str(error).splitlines()[0]}"
        return {}


def _row(climb: Climb, n: int, setting: Setting, seconds: dict[str, float]) -> dict[str, Any]:
    """Return the figures of a contender; ratios are its time to that of others, and a published loop's to its own."""
    own, peak = seconds[climb.name], climb.probes[-1].peak_bytes
    published = seconds.get(published_name(climb.name))
    return {
        "contender": climb.name, "n": n, "d": setting.dim, "dtype": short(setting.dtype), "ms": 1e3 * own,
        "MiB": None if peak is None else peak / 2**20,
        "to SupCon": own / seconds[SUPCON] if SUPCON in seconds else None,
        "to products": own / seconds[PRODUCTS] if PRODUCTS in seconds else None,
        "published to it": None if published is None else published / own,
    }  # fmt: skip
