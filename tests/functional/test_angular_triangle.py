import importlib
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate.functional import angular_distance, angular_triangle, angular_triangle_distance
from tests.functional.both_ways import compiled_and_not  # noqa: F401
from tests.functional.brute_force import assert_agrees, embeddings

RANKS = {
    "all": (4, [0, 1, 2, 3, 0, 2, 3, 1, 3]),
    "a_middle_rank_missing": (4, [0, 2, 3, 3, 0, 2, 3, 2, 0]),
    "lowest_missing": (4, [1, 1, 1, 3, 3, 3, 2, 1, 3]),
    "highest_missing": (6, [0, 0, 0, 3, 3, 3, 2, 1, 3]),
    "one_rank": (4, [2] * 9),
    "two_classes": (2, [0, 1, 0, 0, 1, 1, 1, 0, 0]),
    "single_samples": (9, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
}
WEIGHTS = torch.tensor([1.0, 0.0, 2.0, 0.5, 1.0, 3.0, 0.25, 1.0, 0.75])
TRIPLETS = torch.tensor([[0, 1, 2], [3, 4, 5], [5, 4, 3], [8, 4, 0], [0, 1, 2]])
options_of_every_kind = pytest.mark.parametrize(
    "options",
    [{"reduction": r, "weights": w} for r in ("mean", "sum", "none") for w in (None, WEIGHTS)],
    ids=[f"{r}-{w}" for r in ("mean", "sum", "none") for w in ("unweighted", "weighted")],
)


@pytest.mark.parametrize(("num_classes", "ranks"), RANKS.values(), ids=RANKS)
@options_of_every_kind
def test_the_loss_is_eq_5_over_every_triplet_of_the_batch(num_classes, ranks, options):
    assert_agrees(angular_triangle, embeddings(9), torch.tensor(ranks), num_classes, **options)


@pytest.mark.parametrize("reference_ranks", [[0, 1, 2, 3, 3, 0, 1], [2, 2, 2, 2, 1, 1, 0]], ids=["all", "no_highest"])
@options_of_every_kind
def test_the_loss_is_eq_5_over_every_triplet_with_references(reference_ranks, options):
    references = {"ref_emb": embeddings(7, seed=1), "ref_labels": torch.tensor(reference_ranks)}
    assert_agrees(angular_triangle, embeddings(9), torch.tensor(RANKS["all"][1]), 4, **references, **options)


@pytest.mark.parametrize(("num_classes", "ranks"), RANKS.values(), ids=RANKS)
@pytest.mark.parametrize("references", [False, True], ids=["batch", "references"])
def test_the_loss_rank_by_rank_is_eq_5_too(monkeypatch, num_classes, ranks, references):
    monkeypatch.setattr(importlib.import_module("ordinate.functional.angular_triangle"), "MIN_PAIRS_PER_RANK", 0)
    options = {"weights": WEIGHTS, "reduction": "none"}
    if references:
        options |= {"ref_emb": embeddings(9, seed=1), "ref_labels": torch.tensor(ranks).roll(4)}
    assert_agrees(angular_triangle, embeddings(9), torch.tensor(ranks), num_classes, **options)


@options_of_every_kind
def test_the_loss_is_eq_5_over_the_triplets_given(options):
    ranks = torch.tensor(RANKS["all"][1])
    assert_agrees(angular_triangle, embeddings(9), ranks, 4, triplets=TRIPLETS, **options)
    references = {"ref_emb": embeddings(10, seed=1), "ref_labels": torch.arange(10) % 4}
    triplets = TRIPLETS + torch.tensor([1, 0, 0])
    triplets[0] = torch.tensor([9, 2, 2])
    assert_agrees(angular_triangle, embeddings(9), ranks, 4, triplets=triplets, **references, **options)


def half_circle(ranks, num_classes):
    turn = math.pi * torch.tensor(ranks, dtype=torch.float64) / (num_classes - 1)
    return torch.stack([turn.cos(), turn.sin(), torch.zeros_like(turn)], dim=1)


@pytest.mark.parametrize(("num_classes", "ranks"), RANKS.values(), ids=RANKS)
def test_ranks_spread_evenly_over_a_half_circle_have_no_loss(num_classes, ranks):
    turned = half_circle(ranks, num_classes) @ torch.linalg.qr(embeddings(3).detach())[0]
    assert angular_triangle(turned, torch.tensor(ranks), num_classes) < 1e-30


def at_angles(*turns):
    return torch.tensor([[math.cos(turn), math.sin(turn)] for turn in turns], dtype=torch.float64)


@pytest.mark.parametrize("turn", [1e-9, 1e-6, 1e-3, 0.1])
def test_the_loss_keeps_its_digits_where_angles_reach_their_targets_0_and_1(turn):
    alike = angular_triangle(at_angles(0.2, 0.2 + turn, 0.2 + 3 * turn), torch.ones(3), 3).item()
    opposite = at_angles(0.2, 0.2 - turn, 0.2 - 3 * turn) * torch.tensor([[1], [-1], [-1]])
    apart = angular_triangle(opposite, torch.tensor([0, 1, 1]), 2).item()
    assert math.isclose(alike, 28 / 3 * (turn / math.pi) ** 2, rel_tol=1e-6)
    assert math.isclose(apart, 9 * (turn / math.pi) ** 2, rel_tol=1e-6)


# angular_distance

vectors = st.lists(st.floats(-100, 100), min_size=3, max_size=3).filter(lambda v: math.hypot(*v) > 1e-3)


def as_tensors(*lists):
    return [torch.tensor(values, dtype=torch.float64) for values in lists]


@given(a=vectors, b=vectors)
def test_the_angular_distance_is_the_arccos_of_the_cosine(a, b):
    a, b = as_tensors(a, b)
    cosine = (a @ b / (a.norm() * b.norm())).clamp(-1, 1)
    assert abs(angular_distance(a, b) - cosine.acos() / math.pi) < 1e-7  # arccos loses half its digits at 1
    assert 0 <= angular_distance(a, b) <= 1


@given(a=vectors, scale=st.floats(1e-3, 1e3))
def test_the_angular_distance_of_one_direction_is_0_and_of_opposite_ones_1(a, scale):
    (a,) = as_tensors(a)
    assert angular_distance(a, a) == 0
    assert angular_distance(a, -a) == 1
    assert angular_distance(a, scale * a) < 1e-15
    assert angular_distance(a, -scale * a) > 1 - 1e-15


@pytest.mark.parametrize("angle", [1e-100, 1e-30, 1e-12, 1e-8, 1e-4, 0.3, math.pi / 2, 3.0, math.pi - 1e-6])
def test_the_angular_distance_keeps_every_digit(angle):
    a = torch.tensor([1.0, 0.0], dtype=torch.float64)
    b = torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64)
    assert math.isclose(angular_distance(a, b).item(), angle / math.pi, rel_tol=1e-15)


@pytest.mark.parametrize("b", [[1.0, 0.0], [-3.0, 0.0], [0.0, 0.0]], ids=["equal", "opposite", "zero"])
def test_the_angular_distance_has_gradient_0_where_it_has_no_derivative(b):
    a, b = torch.tensor([1.0, 0.0], requires_grad=True), torch.tensor(b, requires_grad=True)
    assert not any(gradient.any() for gradient in torch.autograd.grad(angular_distance(a, b), [a, b]))


@pytest.mark.parametrize("other", [[1.0, 2.0], [0.0, 0.0]], ids=["a_direction", "zero"])
def test_a_zero_vector_lies_at_half_from_everything(other):
    other = torch.tensor([other])
    assert angular_distance(torch.zeros(2), other) == 0.5
    assert (
        angular_triangle(torch.zeros(1, 2), torch.ones(1), 3, ref_emb=other.expand(2, 2), ref_labels=torch.ones(2))
        == 0.5
    )
    assert angular_triangle(torch.zeros(3, 2), torch.ones(3), 3) == 0.5


def test_the_angular_distance_broadcasts_and_keeps_the_dtype_of_its_first_argument():
    a, b = embeddings(12).detach().reshape(4, 1, 3, 3).float(), embeddings(5, seed=1).detach()[:, None]
    distance = angular_distance(a, b)
    assert distance.shape == (4, 5, 3)
    assert distance.dtype == torch.float32
    assert distance[2, 4, 1] == angular_distance(a[2, 0, 1], b[4, 0])
    assert torch.autograd.gradcheck(angular_distance, (embeddings(3), embeddings(1, seed=1)))


# angular_triangle_distance


def arccos_distance(a, b):
    return torch.nn.functional.cosine_similarity(a, b, dim=-1).acos() / math.pi


def test_the_angular_triangle_distance_is_eq_2():
    a, b, c = embeddings(6), embeddings(6, seed=1), embeddings(6, seed=2)
    expected = arccos_distance(a, b) + arccos_distance(b, c)
    torch.testing.assert_close(angular_triangle_distance(a, b, c), expected, rtol=0, atol=1e-12)
    assert torch.autograd.gradcheck(angular_triangle_distance, (a, b, c))


@given(seed=st.integers(0, 10_000), d=st.integers(2, 5))
def test_the_angular_triangle_distance_has_the_properties_of_theorem_1(seed, d):
    distance = angular_triangle_distance
    m, n, o, p, q = torch.randn(5, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    assert distance(m, n, o) >= 0
    assert distance(m, m, m) == 0
    torch.testing.assert_close(distance(m, n, o), distance(o, n, m), rtol=1e-14, atol=0)
    assert distance(m, n, o) + distance(o, p, q) >= distance(m, o, q) - 1e-12


def test_the_angular_triangle_distance_along_a_half_circle_is_that_of_its_ends():
    angles = torch.linspace(0, math.pi, 5, dtype=torch.float64)
    ranks = torch.stack([angles.cos(), angles.sin()], dim=1)
    torch.testing.assert_close(angular_triangle_distance(ranks[0], ranks, ranks[4]), torch.ones(5).double())
