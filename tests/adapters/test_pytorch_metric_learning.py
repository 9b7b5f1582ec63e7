"""The losses inside pytorch-metric-learning: its calls, tuples, miners, memory, processes, trainers and reducers."""

import warnings

import pytest
import torch
from pytorch_metric_learning import miners, reducers, trainers
from pytorch_metric_learning.utils.distributed import DistributedLossWrapper
from pytorch_metric_learning.utils.loss_and_miner_utils import convert_to_triplets, get_all_pairs_indices
from torch import nn

from ordinate import functional
from ordinate.adapters import CrossBatchMemory, MetricLearningLoss
from ordinate.errors import OrdinateError
from ordinate.losses import AngularTriangleLoss, MMNPLoss, SupCRLoss, SupReMixLoss
from tests import processes
from tests.functional import brute_force
from tests.functional.brute_force import embeddings

MARGINS = {(0, 1): 0.5, (1, 2): 0.7, (2, 3): 0.6}
LOSSES = {
    "supcr": SupCRLoss,
    "mmnp": lambda **options: MMNPLoss(4, MARGINS, **options),
    "supremix": lambda **options: SupReMixLoss(temperature=0.5, window=2.0, mix_negatives=False, **options),
    "angular_triangle": lambda **options: AngularTriangleLoss(4, **options),
}
RANKS = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 3])
REFERENCE_RANKS = torch.tensor([0, 1, 2, 3, 2, 0, 1, 3])
MINERS = {  # of pairs and of triplets; those that choose some of each
    "pairs": miners.MultiSimilarityMiner(epsilon=0.02),
    "triplets": miners.TripletMarginMiner(margin=0.2, type_of_triplets="semihard"),
}
for_every_loss = pytest.mark.parametrize("name", LOSSES)
for_every_miner = pytest.mark.parametrize("miner", MINERS)


def assert_same_with_gradients(ours, expected, *leaves):
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)
    gradients = (torch.autograd.grad(value, leaves) for value in (ours, expected))
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-11)


# calls and tuples


@for_every_loss
def test_without_a_tuple_it_is_the_loss_of_the_batch_and_of_references(name):
    loss, z, refs = LOSSES[name]().double(), embeddings(9), embeddings(8, seed=1)
    adapted = MetricLearningLoss(loss)
    assert_same_with_gradients(adapted(z, RANKS), loss(z, RANKS), z)
    expected = loss(z, RANKS, ref_emb=refs, ref_labels=REFERENCE_RANKS)
    assert_same_with_gradients(adapted(z, RANKS, None, refs, REFERENCE_RANKS), expected, z, refs)
    expected = loss(z, RANKS, ref_emb=z, ref_labels=RANKS.flip(0))
    assert_same_with_gradients(adapted(z, RANKS, None, z, RANKS.flip(0)), expected, z)


@for_every_loss
def test_all_pairs_without_the_anchors_themselves_are_the_loss_of_the_batch(name):
    loss, z = LOSSES[name]().double(), embeddings(9)
    adapted = MetricLearningLoss(loss)
    pairs = get_all_pairs_indices(RANKS)
    assert_same_with_gradients(adapted(z, RANKS, pairs), loss(z, RANKS), z)
    shuffled = torch.randperm(9)
    places = shuffled.argsort()
    among = tuple(index if i % 2 == 0 else places[index] for i, index in enumerate(pairs))
    assert_same_with_gradients(adapted(z, RANKS, among, z[shuffled], RANKS[shuffled]), loss(z, RANKS), z)


@for_every_miner
@pytest.mark.parametrize("references", [False, True], ids=["batch", "references"])
def test_mmnp_is_eq_2_over_what_a_miner_chose(miner, references):
    z, margins = embeddings(9), torch.tensor(list(MARGINS.values()), dtype=torch.float64)
    given = (embeddings(8, seed=1), REFERENCE_RANKS) if references else (None, None)
    chosen = MINERS[miner](z, RANKS, *given)
    anchor, positive, negative = convert_to_triplets(chosen, RANKS, given[1])
    possible = len(convert_to_triplets(get_all_pairs_indices(RANKS, given[1]), RANKS)[0])
    assert 0 < len(anchor) < possible
    triplets = torch.stack([positive, anchor, negative], 1)
    expected = brute_force.mmnp(z, RANKS, margins, triplets=triplets, ref_emb=given[0], ref_labels=given[1])
    ours = MetricLearningLoss(LOSSES["mmnp"]().double())(z, RANKS, chosen, *given)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-7)  # fixed margins are float32


@for_every_miner
def test_otd_is_its_loss_over_what_a_miner_chose(miner):
    z = embeddings(9)
    chosen = MINERS[miner](z, RANKS)
    anchor, positive, negative = convert_to_triplets(chosen, RANKS)
    triplets = torch.stack([positive, anchor, negative], 1)
    expected = brute_force.angular_triangle(z, RANKS, 4, triplets=triplets)
    assert_same_with_gradients(MetricLearningLoss(LOSSES["angular_triangle"]())(z, RANKS, chosen), expected, z)


@pytest.mark.parametrize("name", ["supcr", "supremix"])
def test_a_miner_weighs_the_anchors_of_a_loss_without_triplets(name):
    loss, z = LOSSES[name](), embeddings(9)
    chosen = torch.tensor([0, 4, 0]), torch.tensor([4, 0, 4]), torch.tensor([1, 2, 2])
    weights = torch.tensor([3, 1, 2, 0, 3, 0, 0, 0, 0]) / 3  # how often each sample was chosen
    assert_same_with_gradients(MetricLearningLoss(loss)(z, RANKS, chosen), loss(z, RANKS, weights=weights), z)


def test_a_tuple_that_a_loss_cannot_follow_is_an_error():
    chosen = torch.tensor([0]), torch.tensor([5]), torch.tensor([1])
    with pytest.raises(OrdinateError, match="indices_tuple: got a miner's choice among references for SupCRLoss"):
        MetricLearningLoss(SupCRLoss())(embeddings(9), RANKS, chosen, embeddings(8, seed=1), REFERENCE_RANKS)


@for_every_loss
def test_an_empty_choice_has_loss_and_gradient_0_as_in_the_librarys_losses(name):
    z, nothing = embeddings(9), torch.zeros(0, dtype=torch.long)
    loss = MetricLearningLoss(LOSSES[name]())(z, RANKS, (nothing, nothing, nothing))
    assert loss == 0
    assert not torch.autograd.grad(loss, z)[0].any()


# reducers and regularizers


def test_a_miner_that_finds_nothing_since_no_labels_are_equal_is_told_once():
    adapted, z, targets = MetricLearningLoss(SupCRLoss()), embeddings(9), torch.arange(9.0)
    with pytest.warns(UserWarning, match="no two labels of the batch are equal"):
        assert adapted(z, targets, MINERS["pairs"](z, targets)) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapted(z, targets, MINERS["pairs"](z, targets))


@pytest.mark.parametrize("name", ["mmnp", "angular_triangle"])
def test_a_miners_triplets_in_the_memory_need_no_self_index(name):
    memory = CrossBatchMemory(
        MetricLearningLoss(LOSSES[name]()), embedding_size=4, memory_size=40, miner=MINERS["triplets"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(3):
            memory(torch.randn(16, 4, generator=torch.Generator().manual_seed(seed)), torch.arange(16) % 4)


@pytest.mark.parametrize(
    ("reducer", "expected"),
    [
        (None, lambda values: values.mean()),
        (reducers.ThresholdReducer(low=1.5), lambda values: values[values > 1.5].mean()),
        (reducers.ClassWeightedReducer(torch.arange(4.0)), lambda values: (values * RANKS).mean()),
    ],
    ids=["default", "threshold", "class_weighted"],
)
def test_a_reducer_reduces_the_values_per_anchor(reducer, expected):
    z = embeddings(9)
    values = functional.supcr(z, RANKS, reduction="none")
    assert 0 < (values > 1.5).sum() < len(values)
    adapted = MetricLearningLoss(SupCRLoss(reduction="none"), reducer=reducer)
    assert_same_with_gradients(adapted(z, RANKS), expected(values), z)


# the memory

BATCHES = [(embeddings(4, seed=seed), (torch.arange(4) + seed) % 4) for seed in range(6)]


@for_every_loss
@pytest.mark.parametrize("size", [12, 14], ids=["whole_batches", "split_batches"])
def test_the_memory_contrasts_anchors_with_all_it_holds_but_themselves(name, size):
    """The batch itself is among what it holds, with its gradient."""
    loss = LOSSES[name](reduction="none").double()
    memory = CrossBatchMemory(MetricLearningLoss(loss), embedding_size=3, memory_size=size)
    seen, seen_ranks = [], []
    for z, ranks in [(embeddings(12, seed=9), torch.arange(12) % 4), *BATCHES]:
        seen, seen_ranks = [*seen, *z.detach()], [*seen_ranks, *ranks]
        held = torch.cat([torch.stack(seen[-size:])[: -len(z)], z])
        held_ranks = torch.stack(seen_ranks[-size:])
        values = []
        for i in range(len(z)):
            others = torch.arange(len(held)) != len(held) - len(z) + i
            contrasted = {"ref_emb": held[others], "ref_labels": held_ranks[others]}
            values.append(loss(z[i : i + 1], ranks[i : i + 1], **contrasted))
        assert_same_with_gradients(memory(z, ranks), torch.cat(values).mean(), z)


# processes


def in_two_processes(rank, efficient):
    mine = slice(0, 5) if rank == 0 else slice(5, 10)
    outcomes = {}
    for name, make in LOSSES.items():
        z = embeddings(10).detach()[mine].requires_grad_()
        loss = DistributedLossWrapper(MetricLearningLoss(make().double()), efficient=efficient)
        value = loss(z, (torch.arange(10) % 4)[mine])
        outcomes[name] = value.detach(), torch.autograd.grad(value, z)[0]
    if not efficient:
        memory = DistributedLossWrapper(CrossBatchMemory(MetricLearningLoss(SupCRLoss()), 3, memory_size=20))
        for seed in (0, 1):
            value = memory(embeddings(10, seed=seed).detach()[mine], (torch.arange(10) % 4)[mine])
        outcomes["memory"] = value
    return outcomes


@pytest.fixture(scope="module")
def joined(tmp_path_factory):
    return processes.together(2, in_two_processes, tmp_path_factory.mktemp("processes") / "joined", False)


@for_every_loss
def test_the_distributed_wrapper_gives_the_loss_of_the_joined_batch(joined, name):
    z = embeddings(10)
    expected = LOSSES[name]().double()(z, torch.arange(10) % 4)
    (gradient,) = torch.autograd.grad(expected, z)
    for value, _ in (outcome[name] for outcome in joined):
        torch.testing.assert_close(value, 2 * expected.detach(), rtol=1e-12, atol=0)  # the wrapper's factor
    gradients = torch.cat([outcome[name][1] for outcome in joined]) / 2  # as DistributedDataParallel averages
    torch.testing.assert_close(gradients, gradient, rtol=1e-10, atol=1e-12)


def test_the_distributed_memory_holds_the_joined_batches(joined):
    z, ranks = embeddings(10, seed=1).detach(), torch.arange(10) % 4
    held = {"ref_emb": torch.cat([embeddings(10).detach(), z]), "ref_labels": torch.cat([ranks, ranks])}
    expected = functional.supcr(z, ranks, **held, self_index=torch.arange(10, 20))
    for outcome in joined:
        torch.testing.assert_close(outcome["memory"], 2 * expected, rtol=1e-12, atol=0)


# trainers


class Noted(nn.Sequential):
    """A network that keeps what it got and gave last."""

    def forward(self, x):
        self.last = x, super().forward(x)
        return self.last[1]


def train(loss, targets, *, tuple_miner=None, **options):
    """Train on samples whose first number tells the target; what the trainer saw at every step, and the loss."""
    torch.manual_seed(0)
    x = torch.randn(32, 3, dtype=torch.float64)
    x[:, 0] = torch.linspace(-1, 1, 32)
    trunk = Noted(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    steps = []
    trainer = trainers.MetricLossOnly(
        {"trunk": trunk},
        {
            f"{name}_optimizer": torch.optim.Adam(module.parameters(), lr=0.02)
            for name, module in {"trunk": trunk, "metric_loss": loss}.items()
            if any(parameter.requires_grad for parameter in module.parameters())
        },
        16,
        {"metric_loss": loss},
        torch.utils.data.TensorDataset(x, targets(x)),
        mining_funcs={} if tuple_miner is None else {"tuple_miner": tuple_miner},
        dataloader_num_workers=0,
        end_of_iteration_hook=lambda trainer: steps.append((trainer.losses["metric_loss"].item(), *trunk.last)),
        **options,
    )
    trainer.train(num_epochs=10)
    return steps


def test_its_trainer_mines_and_learns_margins():
    loss = MetricLearningLoss(MMNPLoss(4))
    start = loss.loss.margins.detach().clone()
    steps = train(loss, lambda x: ((x[:, 0] + 1) * 2).long().clamp(max=3), tuple_miner=MINERS["pairs"])
    assert steps[-1][0] < steps[0][0]
    assert not torch.isclose(loss.loss.margins, start, atol=1e-3).any()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MetricLearningLoss(SupCRLoss), r"loss: got SupCRLoss, expected a loss of ordinate\.losses, such as"),
        (lambda: MetricLearningLoss(nn.L1Loss()), "loss: got L1Loss, expected a loss of"),
        (lambda: CrossBatchMemory(SupCRLoss(), 4), r"loss: got SupCRLoss, expected MetricLearningLoss\(SupCRLoss"),
    ],
)
def test_what_is_no_loss_of_the_library_is_named(build, message):
    with pytest.raises(OrdinateError, match=message):
        build()


@pytest.mark.parametrize(
    ("embeddings", "labels", "message"),
    [
        (torch.randn(4, 5), torch.rand(4), r"embeddings: got shape \(4, 5\), expected \(n, 3\)"),
        (torch.randn(4), torch.rand(4), r"embeddings: got shape \(4,\), expected \(n, 3\)"),
        (torch.randn(4, 3), torch.rand(4, 2), r"labels: got shape \(4, 2\), expected \(4,\)"),
        (torch.randn(9, 3), torch.rand(9), "memory_size: got 8 for a batch of 9, expected at least"),
    ],
)
def test_batches_that_the_memory_cannot_hold_are_errors_and_leave_it_as_it_was(embeddings, labels, message):
    memory = CrossBatchMemory(MetricLearningLoss(SupCRLoss()), embedding_size=3, memory_size=8)
    with pytest.raises(OrdinateError, match=message):
        memory(embeddings, labels)
    assert memory.queue_idx == 0
    chosen = torch.arange(17) < 8  # Of a larger batch the memory keeps what the mask chooses.
    assert memory(torch.randn(17, 3), torch.rand(17), enqueue_mask=chosen) > 0
