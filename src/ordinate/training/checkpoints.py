"""The file that keeps the state of a training, so that one that was killed can continue."""

import pickle
from pathlib import Path

import torch

from ordinate.errors import OrdinateError
from ordinate.option_group import Settings

CHECKPOINT = "last.ckpt"


def read_checkpoint(path: Path, run: str) -> Settings:
    """Return a checkpoint of this run, without running anything in it."""
    try:
        checkpoint: Settings = torch.load(path, map_location="cpu", weights_only=True)
        of_this_run = checkpoint["stage"]["run"] == run
    except pickle.UnpicklingError as error:
        problem = f"{path} is damaged, or holds objects that cannot be read safely, such as the state of a callback"
        raise OrdinateError("checkpoint_dir", problem=problem, hint="remove it to start anew") from error
    except (OSError, EOFError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise OrdinateError("checkpoint_dir", problem=f"{path} is damaged", hint="remove it to start anew") from error
    if not of_this_run:
        problem = f"{path} is of a fit with other data or settings"
        raise OrdinateError("checkpoint_dir", problem=problem, expected="a folder of its own")
    return checkpoint
