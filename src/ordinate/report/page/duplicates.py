"""Samples that are the same to the encoder."""

import hashlib
from dataclasses import dataclass

from torch import Tensor

from ordinate.report.page.contents import Contents


@dataclass(frozen=True)
class Duplicates:
    """How many samples have a twin.

    Args:
        seen: samples that the model was also trained on.
        contradicting: samples of which another, the same in all, has another label.
    """

    seen: int
    contradicting: int


def find_duplicates(contents: Contents) -> Duplicates:
    """Count samples whose inputs equal those of another, to the last bit."""
    digests = _digests(contents.inputs)
    known = set() if contents.training_inputs is None else set(_digests(contents.training_inputs))
    labels: dict[bytes, set[float]] = {}
    for digest, label in zip(digests, contents.true.tolist(), strict=True):
        labels.setdefault(digest, set()).add(label)
    return Duplicates(
        seen=sum(digest in known for digest in digests),
        contradicting=sum(len(labels[digest]) > 1 for digest in digests),
    )


def _digests(x: Tensor) -> list[bytes]:
    return [hashlib.blake2b(sample.tobytes(), digest_size=16).digest() for sample in x.numpy()]
