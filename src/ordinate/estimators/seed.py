"""The seed of a fit, which a fit that continues from a checkpoint uses again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ordinate.errors import OrdinateError
from ordinate.torchrun import is_first_process, joined_processes, shared_number

SEED = "seed.json"  # beside the checkpoint


def draw_seed(random_state: Any, folder: Path | None) -> int:
    """Return the seed that follows from ``random_state``.

    A whole number always gives the same one, and so does a ``RandomState`` that a script makes anew. None gives another
    one every time, so it is kept in the folder before training, and the one kept there is returned if there is one.
    Under torchrun all processes draw the same.
    """
    together = random_state is None and joined_processes() > 1
    source = shared_number() % 2**32 if together else random_state
    seed = int(check_random_state(source).randint(np.iinfo(np.int32).max))
    if folder is None or random_state is not None:
        return seed
    path = folder / SEED
    if path.exists():
        return _kept(path)
    if not is_first_process():
        return seed
    folder.mkdir(parents=True, exist_ok=True)
    pending = path.with_suffix(".partial")
    pending.write_text(json.dumps({"seed": seed}))
    pending.replace(path)
    return seed


def _kept(path: Path) -> int:
    try:
        return int(json.loads(path.read_text())["seed"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OrdinateError(
            "checkpoint_dir", problem=f"{path} is damaged", hint="remove its folder to start again"
        ) from error
