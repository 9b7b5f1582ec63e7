"""The covering set that stands for all combinations where a test is marked pairwise."""

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from tests.pairwise import covering


def pairs_of(cases):
    return {pair for case in cases for pair in combinations(sorted(case.items()), 2)}


@given(sizes=st.lists(st.integers(1, 5), min_size=2, max_size=4), left_out=st.sets(st.integers(0, 40), max_size=3))
def test_every_pair_of_values_occurs_and_no_choice_is_in_vain(sizes, left_out):
    cases = [dict(zip("abcd", case, strict=False)) for case in product(*map(range, sizes))]
    cases = [case for i, case in enumerate(cases) if i not in left_out] or cases
    chosen = covering(cases)
    assert pairs_of(cases[i] for i in chosen) == pairs_of(cases)
    assert len(chosen) <= len(pairs_of(cases))
    assert covering(cases) == chosen
