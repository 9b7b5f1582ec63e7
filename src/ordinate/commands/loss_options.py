"""The settings of a contrastive loss that ``ordinate fit`` takes, for the methods that have them."""

from collections.abc import Sequence
from typing import Any

from ordinate.commands.fit_options import FitOptions
from ordinate.errors import OrdinateError
from ordinate.estimators.registry import build

LOSS_OPTIONS = ("label_distance", "similarity", "temperature", "num_positives")


def loss_settings(options: FitOptions, methods: Sequence[str], *, ranks: bool) -> dict[str, Any]:
    """Return the options of the loss that were given, as settings of every method's estimator.

    Raises:
        OrdinateError: an option that one of the methods has no setting for.
    """
    given = {name: getattr(options, name) for name in LOSS_OPTIONS if getattr(options, name) is not None}
    for method in methods if given else ():
        settings = build(method, "ranks" if ranks else "continuous").get_params()
        for name in given:
            if name not in settings:
                raise OrdinateError(
                    f"--{name.replace('_', '-')}: {method} has no such setting, expected a --method that has, "
                    "such as supcr"
                )
    return given
