import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from ordinate.functional import supcr
from tests.functional.both_ways import compiled_and_not  # noqa: F401
from tests.functional.brute_force import SIMILARITIES, assert_agrees, embeddings, label_distance_of


def squared_distance(a, b):
    return (a[:, None] - b).square().sum(-1)


LINE_LABELS = {
    "distinct": torch.tensor([3.0, -1.5, 0.25, 7.0, 2.0, 10.0, 4.5, 5.125]),
    "ties": torch.tensor([0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 5.0]),
    "two_views": torch.tensor([4, 4, 0, 0, 9, 9, 1, 1]),
    "two_labels": torch.tensor([0, 1, 1, 0, 0, 0, 1, 0], dtype=torch.uint8),
}
PLANE_LABELS = {
    "distinct": embeddings(8, 2, seed=4).detach().tanh(),
    "ties": torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 0.5], [0, 1]]),
    "two_views": torch.tensor([[0.1, -0.3], [0.5, 0.2], [-0.4, 0.9], [0.0, -0.7]]).repeat_interleave(2, 0),
}
CASES = [(labels, distance) for labels in LINE_LABELS.values() for distance in ("l1", "l2", squared_distance)]
CASES += [(labels, distance) for labels in PLANE_LABELS.values() for distance in ("l1", "l2", squared_distance)]
CASES += [(PLANE_LABELS[name], "angular") for name in ("distinct", "two_views")]


@pytest.mark.pairwise
@pytest.mark.parametrize(("labels", "label_distance"), CASES)
@pytest.mark.parametrize("options", [{}, {"num_positives": 1}, {"num_positives": 4}, {"num_positives": 99}], ids=str)
def test_the_loss_is_eq_1_whatever_the_labels(labels, label_distance, options):
    assert_agrees(supcr, embeddings(8), labels, label_distance=label_distance, **options)
    references = {"ref_emb": embeddings(6, seed=1), "ref_labels": labels[[1, 1, 0, 7, 4, 2]]}
    assert_agrees(supcr, embeddings(8), labels, label_distance=label_distance, **references, **options)


@pytest.mark.pairwise
@pytest.mark.parametrize("similarity", ["neg_l2", "neg_l1", "cosine"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weights", [None, torch.tensor([1.0, 0.0, 2.0, 0.5, 1.0, 3.0, 0.25, 1.0])])
@pytest.mark.parametrize("references", [False, True])
@pytest.mark.parametrize("temperature", [0.1, 2.0])
def test_the_loss_is_eq_1_whatever_the_options(similarity, reduction, weights, references, temperature):
    options = {"ref_emb": embeddings(5, seed=1), "ref_labels": torch.tensor([0.0, 2.0, 3.0, 2.5, 7.0])}
    options = (options if references else {}) | {"temperature": temperature, "weights": weights}
    assert_agrees(supcr, embeddings(8), LINE_LABELS["ties"], similarity=similarity, reduction=reduction, **options)


TENTHS = torch.arange(8, dtype=torch.float64) * 0.1


@pytest.mark.parametrize("tie_tolerance", [0.05, 0.15, 0.25])
@pytest.mark.parametrize("num_positives", [None, 3])
def test_distances_within_the_tie_tolerance_count_as_equal(tie_tolerance, num_positives):
    assert_agrees(supcr, embeddings(8), TENTHS, tie_tolerance=tie_tolerance, num_positives=num_positives)


@pytest.mark.parametrize("tie_tolerance", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("num_positives", [None, 3])
def test_distances_at_the_edge_of_the_tie_tolerance_keep_the_gradient_that_of_the_value(tie_tolerance, num_positives):
    options = {"tie_tolerance": tie_tolerance, "num_positives": num_positives}
    assert torch.autograd.gradcheck(lambda z: supcr(z, TENTHS, **options), embeddings(8), atol=1e-7)


def test_a_tie_tolerance_restores_ties_that_rounding_broke():
    steps = torch.arange(8)
    whole = supcr(embeddings(8), steps)
    rounded = torch.tensor(0.1) * steps
    assert abs(supcr(embeddings(8), rounded) - whole) > 1e-3
    assert abs(supcr(embeddings(8), rounded, tie_tolerance=1e-5) - whole) < 1e-12


@pytest.mark.parametrize(("dtype", "temperature"), [(torch.float32, 0.011), (torch.float64, 0.0014)])
def test_cosines_over_a_temperature_whose_exponents_overflow_are_still_exact(dtype, temperature):
    z = (embeddings(8).detach() * 0.1 + torch.tensor([1.0, 0.0, 0.0])).to(dtype).double().requires_grad_()
    options = {"similarity": "cosine", "temperature": temperature}
    assert_agrees(supcr, z, torch.arange(8.0), **options)
    narrow = z.detach().to(dtype).requires_grad_()
    gradient = torch.autograd.grad(supcr(narrow, torch.arange(8.0), **options), narrow)[0]
    wide = torch.autograd.grad(supcr(z, torch.arange(8.0), **options), z)[0]
    torch.testing.assert_close(gradient.double(), wide, rtol=1e-5, atol=1e-5 * float(wide.abs().max()))


@pytest.mark.parametrize("transform", [lambda y: y + 37, lambda y: 4 * y, lambda y: -y], ids=["shift", "scale", "flip"])
def test_the_loss_knows_only_the_order_of_label_distances(transform):
    labels = LINE_LABELS["distinct"]
    expected = supcr(embeddings(8), labels, reduction="none")
    transformed = supcr(embeddings(8), transform(labels), reduction="none")
    squared = supcr(embeddings(8), labels, label_distance=squared_distance, reduction="none")
    torch.testing.assert_close(transformed, expected, rtol=0, atol=1e-13)
    torch.testing.assert_close(squared, expected, rtol=0, atol=1e-13)


def test_a_shift_of_all_embeddings_does_not_change_the_loss():
    z = (8 * embeddings(8).detach()).round().requires_grad_()
    shift = torch.tensor([2.0**20, -(2.0**24), 3.0])  # whole numbers: no rounding in the sum
    moved, still = supcr(z + shift, torch.arange(8)), supcr(z, torch.arange(8))
    torch.testing.assert_close(moved, still, rtol=0, atol=1e-13)
    torch.testing.assert_close(torch.autograd.grad(moved, z), torch.autograd.grad(still, z), rtol=0, atol=1e-13)


def test_the_matrix_that_a_label_distance_returns_is_left_as_it_was():
    matrix = squared_distance(TENTHS[:, None], TENTHS[:, None])
    supcr(embeddings(8), TENTHS, label_distance=lambda *_: matrix)
    assert torch.equal(matrix, squared_distance(TENTHS[:, None], TENTHS[:, None]))


@pytest.mark.parametrize("spread", [1e3, 1e4, 1e6])
def test_similarities_that_spread_past_float32_s_exponent_keep_the_loss_finite_and_right(spread):
    labels = torch.tensor([0.0, 1.0, 2.0, 5.0, 5.0])
    z = (spread * torch.tensor([[0.0, 0.1], [0.3, 1.0], [0.2, 3.0], [1.0, 1.2], [0.0, 0.15]])).requires_grad_()
    exact = z.detach().double().requires_grad_()
    loss, expected = supcr(z, labels), supcr(exact, labels)
    assert_agrees(supcr, exact, labels)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-7, atol=0)
    gradients = torch.autograd.grad(loss, z)[0].double(), torch.autograd.grad(expected, exact)[0]
    torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-9)


def test_embeddings_one_float32_step_apart_have_the_gradient_of_their_difference():
    z = embeddings(8).detach().float()
    z[1] = z[0]
    z[1, 0] = torch.nextafter(z[0, 0], torch.tensor(torch.inf))
    assert_agrees(supcr, z.double().requires_grad_(), torch.arange(8))


# Theorems 1 to 3


def ties_of(labels, label_distance="l1"):
    """For each anchor: its distances, and how many of the others lie at each."""
    n = len(labels)
    for i in range(n):
        distances = {j: label_distance_of(labels[i], labels[j], label_distance) for j in range(n) if j != i}
        yield distances, {d: list(distances.values()).count(d) for d in distances.values()}


def lower_bound(labels, label_distance="l1"):
    n = len(labels)
    sizes = [size for _, counts in ties_of(labels, label_distance) for size in counts.values()]
    return sum(size * math.log(size) for size in sizes) / (n * (n - 1))


def smallest_tie(labels, label_distance="l1"):
    return min(size for _, counts in ties_of(labels, label_distance) for size in counts.values())


def is_delta_ordered(z, labels, delta, temperature):
    for i, (distances, _) in enumerate(ties_of(labels)):
        s = {j: SIMILARITIES["neg_l2"](z[i], z[j]).item() / temperature for j in distances}
        for j, s_j in s.items():
            for k, s_k in s.items():
                if distances[j] < distances[k] and not s_j > s_k + 1 / delta:
                    return False
                if distances[j] == distances[k] and not abs(s_j - s_k) < delta:
                    return False
    return True


@given(labels=st.lists(st.integers(0, 6), min_size=3, max_size=9), seed=st.integers(0, 99), scale=st.floats(0, 50))
def test_the_loss_is_never_below_its_lower_bound(labels, seed, scale):
    assume(len(set(labels)) > 1)
    labels = torch.tensor(labels)
    z = scale * embeddings(len(labels), seed=seed).detach()
    assert supcr(z, labels).item() >= lower_bound(labels) - 1e-12


@pytest.mark.parametrize("epsilon", [1.0, 1e-2, 1e-6, 1e-10])
@pytest.mark.parametrize(
    ("labels", "similarity", "label_distance"),
    [
        (torch.arange(7), "neg_l2", "l1"),
        (torch.tensor([0, 0, 1, 1, 5, 5]), "neg_l2", "l1"),
        (torch.tensor([[0, 0], [0, 2], [1, 1], [4, 0], [4, 0]]), "neg_l1", "l1"),
    ],
)
def test_embeddings_ordered_like_their_labels_come_within_epsilon_of_the_lower_bound(
    labels, similarity, label_distance, epsilon
):
    n, temperature = len(labels), 2.0
    gamma = math.log(n / (smallest_tie(labels, label_distance) * epsilon))
    z = labels.reshape(n, -1).double() * max(gamma, 0.1) * temperature * 1.001
    gap = supcr(z, labels, temperature=temperature, similarity=similarity, label_distance=label_distance).item()
    gap -= lower_bound(labels, label_distance)
    assert 0 < gap + 1e-14 < epsilon


@pytest.mark.parametrize("delta", [0.3, 0.6, 0.9])
def test_a_loss_close_to_its_lower_bound_means_delta_ordered_embeddings(delta):
    labels, temperature = torch.tensor([0, 0, 1, 1, 3, 3]), 2.0
    n = len(labels)
    sizes = [size for _, counts in ties_of(labels) for size in counts.values()]
    apart = min(math.log1p(1 / (size * math.exp(delta + 1 / delta))) for size in sizes)
    epsilon = min(apart, 2 * math.log((1 + math.exp(delta)) / 2) - delta) / (n * (n - 1))
    line = torch.stack([labels.double(), torch.zeros(n, dtype=torch.float64)], dim=1)
    noise = embeddings(n, d=2).detach()
    close, ordered = [], []
    for scale in (1, 5, 20, 40):
        for spread in (0.0, 0.1, 0.3, 1.0, 3.0):
            z = scale * line + spread * noise
            close.append(supcr(z, labels, temperature=temperature).item() < lower_bound(labels) + epsilon)
            ordered.append(is_delta_ordered(z, labels, delta, temperature))
    assert any(close)
    assert not all(ordered)
    assert all(is_ordered for is_close, is_ordered in zip(close, ordered, strict=True) if is_close)
