"""What is done to every sample that is decoded to pixels or voxels."""

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray


class Preprocessing(Protocol):
    """What is done to every sample, the same in training and in prediction; a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def size(self) -> tuple[int, ...]: ...

    @property
    def channels(self) -> int: ...

    def read(self, samples: Any, index: int, /) -> NDArray[np.uint8]:
        """Return a sample (channels, *size), or raise an OrdinateError that names it."""
