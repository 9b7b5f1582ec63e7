"""The devices that training may run on. Imports no Lightning."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ordinate.errors import OrdinateError

ASK_MANAGEMENT_LIBRARY = "PYTORCH_NVML_BASED_CUDA_CHECK"


def check_accelerator(accelerator: str) -> None:
    """Raise where a GPU is asked for that is not there."""
    if accelerator in ("gpu", "cuda") and not torch.cuda.is_available():
        raise OrdinateError("accelerator", f"{accelerator!r}, and this machine has no GPU", "'auto' or 'cpu'")


@contextmanager
def quick_to_find_no_gpu() -> Iterator[None]:
    """Where there is no GPU, let PyTorch ask CUDA for one rather than NVIDIA's management library.

    Every step of an optimizer asks. Lightning has PyTorch ask that library, which is loaded anew each time that it is
    not found: 0.3 ms, a tenth of a small network's step.
    """
    asked = os.environ.get(ASK_MANAGEMENT_LIBRARY)
    if asked is None or torch.cuda.is_available():
        yield
        return
    os.environ[ASK_MANAGEMENT_LIBRARY] = "0"
    try:
        yield
    finally:
        os.environ[ASK_MANAGEMENT_LIBRARY] = asked
