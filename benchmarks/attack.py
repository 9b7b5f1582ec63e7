"""Attack the library: damaged files and models, losses of extreme values, kills; and count what held.

    python benchmarks/attack.py [--kinds files losses models kills] [--cases N] [--seed 0] [--small] [--out FILE]

Every trial follows from the seed and its number; `--only NUMBER` tries one again and shows all it says. A trial holds
where files are read as what they say, or refused in one line that names them; where a loss is finite, or refused by the
limit that was passed; where a damaged model is refused; where nothing half-written is left by a kill. It does not where
there is a traceback, other samples than were written, a hang, a crash, or more memory asked for than 3 GiB.

Ends with 1 where anything did not hold. `--small` tries some of each kind but kills, in seconds.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from attack_files import Files
from attack_kills import Kills
from attack_losses import Losses
from attack_models import Models
from attack_trial import HELD, Attack, Trial, try_all

RESULTS = Path(__file__).parent / "results" / "attack.json"
KINDS: dict[str, Callable[[Path, int], Attack]] = {"files": Files, "losses": Losses, "models": Models, "kills": Kills}
CASES = {"files": 2000, "losses": 12000, "models": 1000, "kills": 60}
SMALL = {"files": 120, "losses": 300, "models": 60}
LIMIT = 60.0  # seconds a trial


def main() -> int:
    """Try, print the table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=KINDS)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[str, list[Trial]] = {}
    for kind in given.kinds or (SMALL if given.small else KINDS):
        cases = given.cases or (SMALL if given.small else CASES).get(kind, 1)
        numbers = range(cases) if given.only is None else range(given.only, given.only + 1)
        with tempfile.TemporaryDirectory() as folder:
            trials = try_all(lambda: KINDS[kind](Path(folder), given.seed), given.seed, numbers, LIMIT)  # noqa: B023
            found[kind] = []
            for trial in trials:
                found[kind].append(trial)
                if not trial.held or given.only is not None:
                    print(f"{kind} {trial.number}: {trial.what}: {trial.outcome}: {trial.said}", flush=True)
    rows = [_row(kind, trials) for kind, trials in found.items()]
    print(*("  ".join(f"{name} {value}" for name, value in row.items()) for row in rows), sep="\n")
    if given.only is None:
        given.out.write_text(json.dumps({"seed": given.seed, "kinds": rows}, indent=1) + "\n")
    return int(any(row["held"] < row["tried"] for row in rows))


def _row(kind: str, trials: list[Trial]) -> dict[str, Any]:
    outcomes = Counter(trial.outcome for trial in trials)
    return {
        "kind": kind,
        "tried": len(trials),
        "held": sum(outcomes[name] for name in HELD),
        **dict(outcomes.most_common()),
    }


if __name__ == "__main__":
    sys.exit(main())
