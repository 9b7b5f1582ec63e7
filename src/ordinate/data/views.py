"""How training draws views of samples."""

from typing import NamedTuple, Protocol

from torch import Tensor


class DrawView(Protocol):
    """A function that draws a view of every sample, such as an augmentation of images or a crop of series."""

    @property
    def name(self) -> str: ...

    @property
    def changes(self) -> bool:
        """Whether a view differs from its sample."""

    @property
    def takes_long(self) -> bool:
        """Whether drawing is slow enough for worker processes to pay."""

    def __call__(self, samples: Tensor, /) -> Tensor: ...


class Views(NamedTuple):
    """How training draws views: the function, the number of views per sample, and the number of processes."""

    draw: DrawView
    per_sample: int
    workers: int
