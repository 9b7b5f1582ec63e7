"""GOL: embeddings are ordered by direction and distance, around a reference point a rank."""

import pytest
import torch

from ordinate.errors import OrdinateError
from ordinate.training.optimization import Optimization
from ordinate_papers.methods.gol import GOL, center_loss, metric_loss, order_loss
from tests.methods.examples import DIM, encoder, ranks, train

FAST = Optimization("adam", 0.01, 0.0)
LABELS = [0, 3, 1, 1, 2, 0, 3, 2, 1]


def drawn(labels, classes=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    embeddings = torch.randn(len(labels), 5, generator=generator, dtype=torch.float64).requires_grad_()
    references = torch.randn(classes, 5, generator=generator, dtype=torch.float64).requires_grad_()
    return embeddings, torch.tensor(labels), references


def towards(a, b):
    return (b - a) / torch.linalg.vector_norm(b - a)


def on_sphere(embeddings, references):
    return [x / torch.linalg.vector_norm(x, dim=1, keepdim=True) for x in (embeddings, references)]


def brute_order(embeddings, labels, references):
    h, r = on_sphere(embeddings, references)
    costs = []
    for i, a in enumerate(labels.tolist()):
        for j, b in enumerate(labels.tolist()):
            if a == b:
                continue
            step = 1 if b > a else -1
            inside = 0 <= a - step < len(r)
            away = towards(r[a], r[a - step]) if inside else -towards(r[a], r[a + step])
            move = towards(h[i], h[j])
            logits = 20 * torch.stack([move @ towards(r[a], r[b]), move @ away])
            costs.append(-logits.log_softmax(0)[0])
    return torch.stack(costs).mean()


def brute_metric(embeddings, labels, references, margin):
    h, r = on_sphere(embeddings, references)
    different, same = [], []
    for i, a in enumerate(labels.tolist()):
        for j, b in enumerate(labels.tolist()):
            gaps = [torch.linalg.vector_norm(h[i] - c) - torch.linalg.vector_norm(h[j] - c) for c in r]
            if a < b:
                below = sum((gap + margin).clamp(min=0) for gap in gaps[: a + 1])
                different.append(below + sum((margin - gap).clamp(min=0) for gap in gaps[b:]))
            elif a == b and i < j:
                same.append(sum(gap.abs() for gap in gaps))
    parts = [(2, different), (1, same)]
    total = sum(weight * torch.stack(costs).mean() for weight, costs in parts if costs)
    return total / sum(weight for weight, costs in parts if costs)


def brute_center(embeddings, labels, references):
    h, r = on_sphere(embeddings, references)
    return sum(torch.linalg.vector_norm(x - r[rank]) for x, rank in zip(h, labels, strict=True)) / len(labels)


LOSSES = {
    "order": (order_loss, brute_order),
    "metric": (lambda *a: metric_loss(*a, 0.25), lambda *a: brute_metric(*a, 0.25)),
    "metric without margin": (lambda *a: metric_loss(*a, 0.0), lambda *a: brute_metric(*a, 0.0)),
    "center": (center_loss, brute_center),
}
for_every_loss = pytest.mark.parametrize(("fast", "brute"), LOSSES.values(), ids=LOSSES)


@for_every_loss
@pytest.mark.parametrize(
    ("labels", "classes"),
    [(LABELS, 4), ([1, 0, 0, 1, 1], 2), ([0, 4, 4, 0], 5), ([2, 1, 3], 5), ([0, 1], 2)],
    ids=["ranks", "two ranks", "a gap", "all different", "two samples"],
)
def test_a_loss_is_the_plain_sum_over_pairs(fast, brute, labels, classes):
    arguments = drawn(labels, classes)
    actual, expected = fast(*arguments), brute(*arguments)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)
    for one, other in zip(*(torch.autograd.grad(value, arguments[::2]) for value in (actual, expected)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@for_every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_embeddings_that_coincide_have_a_finite_loss_and_gradient(fast, brute, dtype):
    embeddings = torch.ones(6, 5, dtype=dtype, requires_grad=True)
    references = torch.randn(4, 5, dtype=dtype, generator=torch.Generator().manual_seed(0))
    loss = fast(embeddings, torch.tensor([0, 1, 2, 3, 0, 1]), references)
    (gradient,) = torch.autograd.grad(loss, embeddings)
    assert torch.isfinite(loss)
    assert gradient.abs().max() < 1


@pytest.mark.parametrize(
    ("loss", "labels", "message"),
    [
        (order_loss, [2, 2], "labels: got 2 samples of one rank, expected at least two ranks"),
        (metric_loss, [2], "labels: got a single sample, expected at least two"),
        (order_loss, [0, 4], "labels: got ranks 0 to 4, expected 0 to 3"),
        (metric_loss, [0, 4], "labels: got ranks 0 to 4"),
        (center_loss, [0, 4], "labels: got ranks 0 to 4"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(loss, labels, message):
    with pytest.raises(OrdinateError, match=message):
        loss(*drawn(labels))


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_reference_points_start_evenly_on_a_half_circle(classes):
    references = GOL(encoder(), DIM, classes).references.detach().double()
    between = torch.linspace(0, torch.pi, classes, dtype=torch.float64)
    expected = (between[:, None] - between).cos()
    torch.testing.assert_close(references @ references.T, expected, rtol=0, atol=1e-6)
    with pytest.raises(OrdinateError, match="embedding_dim: got 1, expected a whole number of at least 2"):
        GOL(encoder(), 1, classes)


def test_the_loss_of_a_batch_is_the_sum_of_the_three():
    method, data = GOL(encoder(), DIM, 4, margin=0.5), ranks()
    arguments = method(data.x), data.y, method.references
    expected = order_loss(*arguments) + metric_loss(*arguments, 0.5) + center_loss(*arguments)
    assert method.batch_loss(data.x, data.y).item() == pytest.approx(expected.item(), abs=1e-12)


def test_the_ranks_end_in_order_around_their_reference_points():
    method, data, held_out = GOL(encoder(), DIM, 4, epochs=40, optimization=FAST), ranks(96), ranks(seed=1)
    before = method.references.detach().clone()
    history = train(method, data, held_out)
    assert history[-1]["train_loss"] < 0.3 * history[0]["train_loss"]
    with torch.no_grad():
        assert history[-1]["val_loss"] == pytest.approx(method.loss(method(held_out.x), held_out.y).item(), abs=1e-6)
        h, r = on_sphere(method(data.x), method.references)
    assert not torch.equal(before, method.references)
    assert (torch.cdist(h, r).argmin(1) == data.y).double().mean() > 0.9
    distances = torch.cdist(r, r)
    assert all((distances[0].diff() > 0).tolist() + (distances[3].diff() < 0).tolist())
