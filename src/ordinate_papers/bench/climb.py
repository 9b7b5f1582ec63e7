"""How far a contender goes: it climbs by doubling the batch, and each step says whether the next one fits."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ordinate_papers.bench.contenders import CONTENDERS
from ordinate_papers.bench.measure import Probe, Setting, available_memory, probe

FIRST = 128  # samples of the first step, for want of a smaller size to measure
LONGEST = 20.0  # seconds per pass of a cubic contender
LARGEST = 8 * 2.0**30  # its bytes: those of SupCR's and MMNP's published loops at 1024 samples
SPARE = 0.9  # of the memory that is available
QUADRATIC, CUBIC = 2.0, 3.0


@dataclass
class Climb:
    """The passes of one contender so far, and why it went no farther."""

    name: str
    setting: Setting
    probes: list[Probe] = field(default_factory=list)
    stopped: str | None = None

    def reach(self, n: int) -> bool:
        """Climb to ``n`` samples; False where that takes more than the machine or the contender's limits allow."""
        for step in self._steps(n):
            if self.stopped is not None:
                break
            result = self.obstacle(step) or probe(self.name, step, self.setting)
            if isinstance(result, Probe):
                self.probes.append(result)
            else:
                self.stopped = f"n = {step}: {result}"
        return self.stopped is None

    def settle(self, seconds: float) -> None:
        """Correct the time of the last pass, the first of its process, by that of many."""
        self.probes[-1] = replace(self.probes[-1], seconds=seconds)

    def _steps(self, n: int) -> Iterator[int]:
        step = 2 * self.probes[-1].n if self.probes else FIRST
        while step < n:
            yield step
            step *= 2
        yield n

    def obstacle(self, n: int) -> str | None:
        """What keeps the contender from ``n`` samples, as far as its passes tell."""
        if not self.probes:
            return None
        memory = SPARE * available_memory(self.setting.device)
        longest, largest = (LONGEST, min(LARGEST, memory)) if self._cubic else (math.inf, memory)
        if (seconds := self.seconds(n)) > longest:
            return f"a pass takes about {seconds:.0f} s, more than {longest:.0f} s"
        peaks = [(passed.n, float(passed.peak_bytes)) for passed in self.probes if passed.peak_bytes is not None]
        if peaks and (peak := predict(peaks, n, cubic=self._cubic)) > largest:
            return f"a pass takes about {peak / 2**30:.1f} GiB, more than {largest / 2**30:.1f} GiB"
        return None

    def seconds(self, n: int) -> float:
        """Expected time of a pass over ``n`` samples."""
        return predict([(passed.n, passed.seconds) for passed in self.probes], n, cubic=self._cubic)

    @property
    def _cubic(self) -> bool:
        return CONTENDERS[self.name].cubic


def predict(measured: Sequence[tuple[int, float]], n: int, *, cubic: bool) -> float:
    """Expected amount at ``n`` from those measured as (samples, amount).

    It grows with the square of n; if cubic, as steeply as in its last step, up to the cube.
    """
    last, amount = measured[-1]
    power = CUBIC if cubic else QUADRATIC
    if cubic and len(measured) > 1:
        before, less = measured[-2]
        growth = math.log(amount / less) / math.log(last / before) if amount > 0 and less > 0 else CUBIC
        power = min(max(growth, QUADRATIC), CUBIC)
    return amount * (n / last) ** power
