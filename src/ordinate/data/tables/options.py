"""How an estimator reads tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from ordinate.checks import check_flag
from ordinate.data.options import DataOptions
from ordinate.errors import OrdinateError


@dataclass(frozen=True)
class TableOptions(DataOptions):
    """How an estimator reads tables.

    Args:
        missing: Values that mean missing, in every column of the training data and of tables to predict, such as
            ``[-9, "refused"]``; ``"income=-9"`` is one of one column. A saved model keeps them.

        keep_missing: Whether codes that a file declares as missing, and labels such as "refused", are values, in files
            to predict.

    Example:
        >>> import numpy as np, pandas as pd
        >>> from ordinate import CLOCClassifier
        >>> X = pd.DataFrame({"hours": [1.0, 2.0, -9.0, 4.0] * 10})
        >>> model = CLOCClassifier(data=TableOptions(missing=[-9]), epochs=(2, 2), random_state=0)
        >>> model.fit(X, [0, 0, 1, 1] * 10).reader_.notes
        ['missing values of hours (10 of 40): numbers become the median, marked in a column; text gets no category']
    """

    missing: Sequence[str | float] = ()
    keep_missing: bool = False

    def __post_init__(self) -> None:
        are_values = not isinstance(self.missing, str) and all(
            isinstance(each, str | int | float) for each in self.missing
        )
        if not are_values:
            raise OrdinateError("missing", repr(self.missing), "a list of texts and numbers, such as [-9, 'refused']")
        check_flag(self.keep_missing, "keep_missing")

    @property
    def texts(self) -> tuple[str, ...]:
        """The values as text, as a saved model keeps them."""
        return tuple(map(str, self.missing))
