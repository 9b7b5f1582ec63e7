"""Objects of R, written as R writes them: vectors with attributes, which rdata alone does not write from Python."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import rdata
from rdata.conversion.to_r import build_r_object
from rdata.parser import RObjectType


@dataclass
class RVector:
    """Values with attributes; names with a dot are written with an underscore."""

    values: Any
    kind: RObjectType = RObjectType.REAL
    attributes: dict[str, Any] = field(default_factory=dict)


def of_class(classes, values, kind=RObjectType.REAL, **attributes):
    return RVector(values, kind, {**attributes, "class": np.array(classes)})


def whole(*values):
    return RVector(np.array(values, dtype=np.int32), RObjectType.INT)


def data_frame(columns, rows, *classes):
    """Return a data frame of a list of names and columns."""
    names = np.array([name for name, _ in columns])
    attributes = {"names": names, "row.names": whole(-(2**31), -rows)}
    values = [values for _, values in columns]
    return of_class([*classes, "data.frame"], values, RObjectType.VEC, **attributes)


def write(path, held):
    """Write an object to an .rds, or a dict of them to an .rda."""
    writer = rdata.write_rds if path.suffix == ".rds" else rdata.write_rda
    writer(path, held, constructor_dict={RVector: _as_object})


def _as_object(vector, converter):
    values = vector.values
    if vector.kind is RObjectType.VEC:
        values = [converter.convert_to_r_object(each) for each in values]
    attributes = None
    if vector.attributes:
        attributes = converter.convert_to_r_attributes(vector.attributes)
    return build_r_object(vector.kind, value=values, is_object="class" in vector.attributes, attributes=attributes)
