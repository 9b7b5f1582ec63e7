import pytest
import torch

from ordinate import functional
from ordinate.errors import OrdinateError
from tests.functional.brute_force import embeddings
from tests.functional.every_loss import (
    angular_triangle,
    for_every_cosine_loss,
    for_every_loss,
    mmnp,
    supcr,
    supremix,
)

RANKS = torch.tensor([0, 1, 2, 3, 4, 0, 2, 4, 1, 4])
Z = embeddings(10).detach()
NAN, INF = float("nan"), float("inf")


def with_one(tensor, value):
    tensor = tensor.clone().double()
    tensor.view(-1)[3] = value
    return tensor


@for_every_loss
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"embeddings": with_one(Z, NAN)}, "embeddings: 1 of 10 rows hold NaN"),
        ({"embeddings": with_one(Z, INF)}, "embeddings: 1 of 10 rows hold NaN or infinity"),
        ({"embeddings": Z.long()}, "embeddings: got dtype torch.int64"),
        ({"embeddings": Z[:, 0]}, r"embeddings: got shape \(10,\)"),
        ({"embeddings": Z[:, None]}, r"embeddings: got shape \(10, 1, 3\).*flatten_views"),
        ({"embeddings": Z[:0], "labels": RANKS[:0]}, r"embeddings: got shape \(0, 3\)"),
        ({"embeddings": Z[:, :0]}, r"embeddings: got shape \(10, 0\)"),
        ({"embeddings": Z.tolist()}, "embeddings: got list"),
        ({"labels": with_one(RANKS, NAN)}, "labels: got NaN"),
        ({"labels": with_one(RANKS, -INF)}, "labels: got NaN or infinity"),
        ({"labels": RANKS[:9]}, r"labels: got shape \(9,\)"),
        ({"labels": RANKS[0]}, r"labels: got shape \(\)"),
        ({"labels": RANKS.reshape(10, 1, 1)}, r"labels: got shape \(10, 1, 1\)"),
        ({"labels": RANKS.tolist()}, "labels: got list"),
        ({"labels": RANKS.to(torch.complex64)}, "labels: got dtype torch.complex64"),
        ({"weights": torch.ones(9)}, r"weights: got shape \(9,\)"),
        ({"weights": torch.ones(10, 1)}, r"weights: got shape \(10, 1\)"),
        ({"weights": with_one(torch.ones(10), -1)}, "weights: got negative"),
        ({"weights": with_one(torch.ones(10), NAN)}, "weights: got NaN"),
        ({"weights": torch.zeros(10)}, "weights: got negative or only zero"),
        ({"weights": [1.0] * 10}, "weights: got list"),
        ({"ref_emb": Z}, "ref_labels: got None"),
        ({"ref_labels": RANKS}, "ref_emb: got None"),
        ({"ref_emb": Z[:, :2], "ref_labels": RANKS}, "ref_emb: got 2 dimensions, expected 3"),
        ({"ref_emb": with_one(Z, NAN), "ref_labels": RANKS}, "ref_emb: 1 of 10 rows hold NaN"),
        ({"ref_emb": Z.long(), "ref_labels": RANKS}, "ref_emb: got dtype torch.int64"),
        ({"ref_emb": Z, "ref_labels": RANKS[:9]}, r"ref_labels: got shape \(9,\)"),
        ({"ref_emb": Z, "ref_labels": with_one(RANKS, NAN)}, "ref_labels: got NaN"),
        ({"reduction": "avg"}, "reduction: got 'avg'"),
        ({"reduction": None}, "reduction: got None"),
    ],
)
def test_what_no_loss_can_use_is_an_error_that_names_its_argument(loss, arguments, message):
    options = {"embeddings": Z, "labels": RANKS} | arguments
    with pytest.raises(OrdinateError, match=f"^{message}"):
        loss(options.pop("embeddings"), options.pop("labels"), **options)


@pytest.mark.parametrize("loss", [mmnp, angular_triangle], ids=["mmnp", "angular_triangle"])
@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (with_one(RANKS, 2.5), "labels: got fractions such as 2.5"),
        (with_one(RANKS, 5), "labels: got ranks 0 to 5, expected 0 to 4"),
        (with_one(RANKS, -1), "labels: got ranks -1 to 4, expected 0 to 4"),
        (RANKS[:, None].expand(10, 2), r"labels: got shape \(10, 2\)"),
    ],
)
def test_labels_that_are_no_ranks_are_an_error(loss, ranks, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        loss(Z, ranks)
    with pytest.raises(OrdinateError, match=f"^ref_{message}"):
        loss(Z, RANKS, ref_emb=Z, ref_labels=ranks)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: functional.supcr(Z[:1], RANKS[:1]), "embeddings: got 1, expected at least 3 samples"),
        (lambda: functional.supcr(Z[:2], RANKS[:2]), "embeddings: got 2, expected at least 3 samples"),
        (lambda: functional.supcr(Z[:2], RANKS[[0, 0]]), "embeddings: got 2, expected at least 3 samples"),
        (lambda: supcr(Z[:2], RANKS[:2], num_positives=1), "embeddings: got 2, expected at least 3 samples"),
        (lambda: supcr(Z, RANKS, ref_emb=Z[:1], ref_labels=RANKS[:1]), "ref_emb: got 1, expected at least 2 samples"),
        (
            lambda: supcr(Z[:1], RANKS[:1], ref_emb=Z[:2], ref_labels=RANKS[:2], self_index=torch.tensor([0])),
            "ref_emb: got 2, expected at least 3 samples",
        ),
        (
            lambda: functional.mmnp(Z[:1], RANKS[:1], torch.ones(4)),
            "labels: .* no anchor has both a positive and a negative",
        ),
        (
            lambda: functional.mmnp(Z, torch.ones(10), torch.ones(4)),
            "labels: .* no anchor has both a positive and a negative",
        ),
        (lambda: mmnp(Z[:5], RANKS[:5]), "labels: .* no anchor has both a positive and a negative"),
        (lambda: mmnp(Z, RANKS, ref_emb=Z[:2], ref_labels=RANKS[[0, 0]]), "labels: .* no anchor has both"),
        (lambda: supremix(Z[:1], RANKS[:1]), "embeddings: got 1, expected at least 3 samples"),
        (lambda: supremix(Z[:2], RANKS[[0, 0]]), "embeddings: got 2, expected at least 3 samples"),
        (
            lambda: supremix(Z[:2], RANKS[[0, 0]], ref_emb=Z[:1], ref_labels=RANKS[:1]),
            "ref_emb: got 1, expected at least 2 samples",
        ),
        (lambda: supremix(Z[:5], RANKS[:5], window=0.5), "labels, window: .* no window of 0.5"),
        (lambda: supremix(Z[:5], RANKS[:5], mix_positives=False), "labels, window: no anchor has a positive"),
        (lambda: supremix(Z[:3], RANKS[:3], window=9.0, mix_positives=False), "labels, window: no"),
        (lambda: angular_triangle(Z[:1], RANKS[:1]), "labels: .* offer no triplet"),
        (lambda: angular_triangle(Z[:4], RANKS[:4]), "labels: .* offer no triplet"),
        (lambda: angular_triangle(Z[:4], torch.tensor([1, 1, 2, 4])), "labels: .* offer no triplet"),
        (lambda: angular_triangle(Z[:1], RANKS[:1], ref_emb=Z[:1], ref_labels=RANKS[:1]), "labels: .* no triplet"),
    ],
)
def test_a_batch_without_a_value_is_an_error_and_not_a_silent_zero(call, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda z: functional.supcr(z[:3], RANKS[:3]),
        lambda z: functional.supcr(z[:3], RANKS[:3], num_positives=1),
        lambda z: functional.supcr(z[:1], RANKS[:1], ref_emb=z[1:3], ref_labels=RANKS[1:3]),
        lambda z: supcr(z[:1], RANKS[:1], ref_emb=z[:3], ref_labels=RANKS[:3], self_index=torch.tensor([0])),
        lambda z: supremix(z[:3], RANKS[[0, 0, 0]]),
        lambda z: supremix(z[:3], RANKS[:3]),
        lambda z: supremix(z[:1], RANKS[:1], ref_emb=z[1:3], ref_labels=RANKS[[0, 1]]),
        lambda z: functional.mmnp(z[:3], RANKS[[0, 0, 1]], torch.tensor([3.0])),
        lambda z: functional.angular_triangle(z[:3], RANKS[[0, 0, 0]], 2),
        lambda z: functional.angular_triangle(z[:3], RANKS[[0, 1, 1]], 2),
    ],
)
def test_the_smallest_batch_that_a_loss_takes_has_a_gradient(call):
    z = embeddings(10)
    assert torch.autograd.grad(call(z), z)[0].abs().max() > 1e-3


@pytest.mark.parametrize("labels", [torch.full((10,), 2.5), torch.ones(10, 2)], ids=["numbers", "vectors"])
@pytest.mark.parametrize("options", [{}, {"label_distance": "l2"}, {"reduction": "none"}], ids=str)
def test_supcr_of_equal_labels_is_an_error_as_it_orders_nothing(labels, options):
    message = r"^labels: got the same one for all 10, expected labels that differ"
    with pytest.raises(OrdinateError, match=message):
        functional.supcr(embeddings(10), labels, **options)
    some = labels.clone()
    some[0] += 1
    assert functional.supcr(embeddings(10), labels, ref_emb=embeddings(10), ref_labels=some, **options).isfinite().all()


@for_every_cosine_loss
def test_a_cosine_loss_of_numbers_is_an_error_as_it_has_no_gradient(loss):
    with pytest.raises(OrdinateError, match=r"^embeddings: got 1 dimension, expected at least 2"):
        loss(Z[:, :1], RANKS)


@pytest.mark.parametrize("loss", [mmnp, supremix, angular_triangle], ids=["mmnp", "supremix", "angular_triangle"])
@pytest.mark.parametrize("reduction", ["default", "sum", "none"])
def test_weights_that_leave_no_anchor_with_a_loss_are_an_error(loss, reduction):
    options = {} if reduction == "default" else {"reduction": reduction}
    ranks, weights = torch.tensor([0, 0, 0, 4]), torch.tensor([0.0, 0.0, 0.0, 1.0])  # the last has no positive
    with pytest.raises(OrdinateError, match=r"^weights: got zero for every anchor that has a loss"):
        loss(Z[:4], ranks, weights=weights, **options)


def gaze(**options):
    return functional.supcr(Z, Z[:, :2], label_distance="angular", **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: supcr(Z, RANKS, label_distance="angular"), "labels: got 1 dimension, 'angular' takes"),
        (lambda: gaze(ref_emb=Z, ref_labels=Z), "ref_labels: got 3 dimensions per label, expected 2"),
        (lambda: supcr(Z, RANKS, label_distance=lambda *labels: labels[0]), "label_distance: the callable returned"),
        (lambda: supcr(Z, RANKS, label_distance=lambda *_: 1.0), "label_distance: the callable returned float"),
        (lambda: supcr(Z, RANKS, label_distance=lambda a, b: a - b.T), "label_distance: .* values below 0"),
        (lambda: supcr(Z, RANKS, label_distance=lambda a, b: a @ b.T / 0), "label_distance: .* NaN"),
        (lambda: supcr(Z, torch.tensor([1e308, -1e308] * 5, dtype=torch.float64)), "labels: .* range of their dtype"),
        (lambda: supcr(Z, torch.zeros(10, 0)), r"labels: got shape \(10, 0\)"),
        (lambda: supcr(Z, RANKS, reduction="pair_mean"), "reduction: got 'pair_mean'"),
        (
            lambda: functional.mmnp(Z, RANKS, torch.tensor([0.5, 0.5, 0.0, 0.5])),
            "margins: got .* expected values above 0, of at most",
        ),
        (
            lambda: functional.mmnp(Z, RANKS, torch.tensor([0.5, NAN, 0.5, 0.5])),
            "margins: got .* expected values above 0, of at most",
        ),
        (
            lambda: functional.mmnp(Z, RANKS, torch.ones(4, dtype=torch.long)),
            "margins: got .*, expected a floating-point tensor",
        ),
        (lambda: functional.mmnp(Z, RANKS, torch.ones(1, 4)), "margins: got .*, expected a floating-point tensor"),
        (lambda: functional.mmnp(Z, RANKS, [0.5] * 4), "margins: got .*, expected a floating-point tensor"),
        (lambda: functional.mmnp(Z, RANKS, torch.ones(3)), "labels: got ranks 0 to 4, expected 0 to 3"),
        (lambda: mmnp(Z, RANKS, reduction="mean"), "reduction: got 'mean', expected one of 'pair_mean'"),
        (
            lambda: mmnp(Z, RANKS.to("meta")),
            "labels: got a tensor on meta, expected one on cpu, as embeddings are",
        ),
        (lambda: supcr(Z, RANKS, weights=torch.ones(10, device="meta")), "weights: got a tensor on meta"),
        (
            lambda: functional.mmnp(Z, RANKS, torch.ones(4), ref_emb=(RANKS, RANKS, RANKS)),
            "ref_emb: got a tuple, .*Metric",
        ),
        (lambda: functional.mmnp(Z, RANKS, torch.ones(4, device="meta")), "margins: got a tensor on meta"),
        (lambda: supremix(Z, RANKS, neg_mix=torch.ones(10, 10, device="meta")), "neg_mix: got a tensor on meta"),
        (
            lambda: angular_triangle(Z, RANKS, triplets=torch.ones(2, 3, device="meta").long()),
            "triplets: got a tensor on meta",
        ),
        (lambda: supremix(Z, Z[:, :2]), "labels: got 2 dimensions per label, expected 1"),
        (
            lambda: supremix(Z, RANKS, neg_mix=torch.ones(10, 9)),
            r"neg_mix: got \(10, 9\), expected a tensor \(10, 10\)",
        ),
        (lambda: supremix(Z, RANKS, neg_mix=torch.full((10, 10), 1.1)), "neg_mix: got values outside 0 to 1"),
        (lambda: supremix(Z, RANKS, neg_mix=torch.full((10, 10), NAN)), "neg_mix: got values outside 0 to 1"),
        (lambda: supremix(Z, RANKS, neg_mix=0.3), "neg_mix: got float"),
        (lambda: angular_triangle(Z, RANKS, triplets=torch.ones(2, 2).long()), r"triplets: got \(2, 2\)"),
        (lambda: angular_triangle(Z, RANKS, triplets=torch.ones(0, 3).long()), r"triplets: got \(0, 3\)"),
        (lambda: angular_triangle(Z, RANKS, triplets=torch.ones(2, 3)), "triplets: got dtype torch.float32"),
        (lambda: angular_triangle(Z, RANKS, triplets=[[0, 1, 2]]), "triplets: got list"),
        (lambda: angular_triangle(Z, RANKS, triplets=torch.tensor([[0, 1, 10]])), "triplets: got indices 10 to 10"),
        (lambda: angular_triangle(Z, RANKS, triplets=torch.tensor([[-1, 1, 2]])), "triplets: got indices -1 to -1"),
        (lambda: angular_triangle(Z, RANKS, triplets=torch.tensor([[0, 1, 1]])), "triplets: got one sample twice"),
        (lambda: mmnp(Z, RANKS, triplets=torch.tensor([[0, 0, 1]])), "triplets: got one sample twice"),
        (lambda: mmnp(Z, RANKS, triplets=torch.tensor([[1, 0, 2]])), r"triplets: got one of the ranks \[1, 0, 2\]"),
        (lambda: functional.angular_distance(Z.long(), Z), "a, b: got dtypes torch.int64 and torch.float64"),
        (lambda: functional.angular_distance(Z, Z[:, :2]), r"a, b: got shapes \(10, 3\) and \(10, 2\)"),
        (
            lambda: functional.angular_triangle_distance(Z, Z, Z.long()),
            "a, b, c: got dtypes torch.float64 and torch.float64 and torch.int64",
        ),
        (
            lambda: functional.angular_triangle_distance(Z[:4], Z[:1], Z),
            r"a, b, c: got shapes \(4, 3\) and \(1, 3\) and \(10, 3\), which do not broadcast",
        ),
        (lambda: functional.angular_distance(Z, Z[:4]), r"a, b: got shapes \(10, 3\) and \(4, 3\)"),
        (lambda: functional.flatten_views(Z, RANKS), r"embeddings: got shape \(10, 3\), expected \(b, v, d\)"),
        (lambda: functional.flatten_views(Z[None], RANKS), r"labels: got shape \(10,\), expected 1 row"),
    ],
)
def test_an_option_that_cannot_be_used_is_an_error_that_names_it(call, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        call()


@pytest.mark.parametrize("label_shape", [(3,), (3, 2)])
def test_flat_views_stand_together_with_their_label_repeated(label_shape):
    views, labels = torch.arange(24.0).reshape(3, 2, 4), torch.randn(label_shape)
    flat, repeated = functional.flatten_views(views, labels)
    assert flat.shape == (6, 4)
    assert repeated.shape == (6, *label_shape[1:])
    for sample in range(3):
        for view in range(2):
            assert torch.equal(flat[2 * sample + view], views[sample, view])
            assert torch.equal(repeated[2 * sample + view], labels[sample])


@pytest.mark.parametrize(("ranks", "is_shifted"), [([3, 4, 5], True), ([0, 1, 3], False), ([3, 4, 6], False)])
def test_ranks_that_do_not_count_from_0_are_told_how_to(ranks, is_shifted):
    with pytest.raises(OrdinateError, match=r"expected 0 to 2 \(3 classes\)") as error:
        functional.mmnp(torch.eye(3), torch.tensor(ranks), torch.ones(2))
    assert ("ranks count from 0: labels - 3, if 3 is the lowest of all" in str(error.value)) == is_shifted
