"""A covering set of combinations: a few of many, in which every pair of values of two options still occurs."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations


def covering(cases: Sequence[Mapping[str, Hashable]]) -> set[int]:
    """Choose cases, by their index, in which every pair of values of two options occurs that occurs in any case.

    A case maps options to values. Chooses greedily, the first of the best, so that equal cases give equal choices.
    """
    pairs = [set(combinations(sorted(case.items(), key=lambda item: item[0]), min(2, len(case)))) for case in cases]
    missing = set().union(*pairs)
    chosen: set[int] = set()
    while missing:
        best = max(range(len(cases)), key=lambda i: len(pairs[i] & missing))
        chosen.add(best)
        missing -= pairs[best]
    return chosen
