"""Predictors in saved models: a class by its name, a configuration, and tensors."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from torch import Tensor, nn

from ordinate.errors import OrdinateError
from ordinate.extensions import extensions, load_object

CORE: Mapping[str, str] = {
    "BlendHead": "ordinate.encoders.blend_head:BlendHead",
    "CORNHead": "ordinate.heads.binned:CORNHead",
    "DEXHead": "ordinate.heads.binned:DEXHead",
    "DLDLv2Head": "ordinate.heads.binned:DLDLv2Head",
    "LinearHead": "ordinate.heads.linear:LinearHead",
    "NeighbourMean": "ordinate.heads.neighbours:NeighbourMean",
    "NeighbourVote": "ordinate.heads.neighbours:NeighbourVote",
    "ORHead": "ordinate.heads.binned:ORHead",
    "RankLogits": "ordinate.heads.ranks:RankLogits",
    "VoteProbabilities": "ordinate.heads.ranks:VoteProbabilities",
}


@cache
def places() -> dict[str, str]:
    """Return the places of all predictors by the names of their classes."""
    found = dict(CORE)
    for extension in extensions():
        found |= extension.predictors
    return found


def describe_predictor(predictor: Any) -> dict[str, Any]:
    """Return the name and the configuration of a predictor."""
    return {"class": type(predictor).__name__, **predictor.config()}


def restore_predictor(config: dict[str, Any], tensors: dict[str, Tensor]) -> nn.Module:
    """Return a predictor in float64 from its description and tensors.

    Raises:
        OrdinateError: The class is not one of those that are known.
    """
    options = dict(config)
    name = options.pop("class")
    if name not in places():
        raise OrdinateError(
            "model", problem=f"holds a predictor {name!r}, which this version of Ordinate does not know"
        )
    wide = {key: value.double() if value.is_floating_point() else value for key, value in tensors.items()}
    predictor: nn.Module = load_object(places()[name]).restore(options, wide)
    return predictor.eval()
