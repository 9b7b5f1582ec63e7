"""The devices that training may run on. Imports no Lightning."""

import torch

from ordinate.errors import OrdinateError

ACCELERATORS = ("auto", "cpu", "gpu", "cuda", "mps", "tpu")


def check_accelerator(accelerator: str) -> None:
    """Raise where a GPU is asked for that is not there."""
    if accelerator not in ACCELERATORS:
        raise OrdinateError("accelerator", repr(accelerator), f"one of {', '.join(map(repr, ACCELERATORS))}")
    if accelerator in ("gpu", "cuda") and not torch.cuda.is_available():
        raise OrdinateError("accelerator", f"{accelerator!r}, and this machine has no GPU", "'auto' or 'cpu'")
