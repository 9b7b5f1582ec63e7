import copy
from dataclasses import replace

import pytest
import torch

from ordinate.errors import OrdinateError
from ordinate.losses import AngularTriangleLoss, EmbeddingMemory, MMNPLoss, SupCRLoss, SupReMixLoss
from tests.functional.brute_force import embeddings

RANKS = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3])
LOSSES = {
    "supcr": SupCRLoss(),
    "mmnp": MMNPLoss(4),
    "supremix": SupReMixLoss(temperature=0.5, window=2.0, mix_negatives=False),
    "angular_triangle": AngularTriangleLoss(4),
}
for_every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def batches(count):
    return [embeddings(8, seed=seed) for seed in range(count)]


def value_and_gradient(value, z):
    return [value, torch.autograd.grad(value, z)[0]]


@for_every_loss
@pytest.mark.parametrize(("size", "held"), [(100, 16), (16, 16), (11, 11), (8, 8), (5, 5)])
def test_a_batch_is_contrasted_with_itself_and_the_last_ones_but_no_anchor_with_itself(loss, size, held):
    first, second, third = batches(3)
    memory = EmbeddingMemory(loss, size)
    memory(first, RANKS), memory(second, RANKS)
    assert len(memory) == held
    past = torch.cat([first, second]).detach()[-held:]
    expected = []
    for i in range(8):  # each anchor alone against all others: nothing else could be left out
        others = [j for j in range(8) if j != i]
        references = {
            "ref_emb": torch.cat([third[others], past]),
            "ref_labels": torch.cat([RANKS[others], RANKS.repeat(2)[-held:]]),
        }
        alone = copy.deepcopy(loss)
        alone.options = replace(alone.options, reduction="none")
        expected.append(alone(third[i : i + 1], RANKS[i : i + 1], **references))
    each = EmbeddingMemory(copy.deepcopy(loss), size)
    each.load_state_dict(memory.state_dict())
    each.loss.options = replace(each.loss.options, reduction="none")
    values = each(third, RANKS)
    torch.testing.assert_close(
        value_and_gradient(values.sum(), third), value_and_gradient(torch.cat(expected).sum(), third)
    )


def test_the_past_takes_no_gradient():
    first, second = batches(2)
    memory = EmbeddingMemory(SupCRLoss(), 100)
    memory(first, RANKS)
    gradients = torch.autograd.grad(memory(second, RANKS), (second, first), allow_unused=True)
    assert gradients[1] is None


def test_a_sample_that_comes_again_is_not_contrasted_with_what_it_was():
    first, second = batches(2)
    ids = torch.arange(8)
    with_ids, plain = EmbeddingMemory(SupCRLoss(), 100), EmbeddingMemory(SupCRLoss(), 100)
    with_ids(first, RANKS, ids=ids), plain(first[4:], RANKS[4:])
    again = torch.tensor([0, 1, 2, 3, 10, 11, 12, 13])
    torch.testing.assert_close(with_ids(second, RANKS, ids=again), plain(second, RANKS))


def test_the_memory_is_kept_in_checkpoints(tmp_path):
    first, second, third = batches(3)
    memory = EmbeddingMemory(SupCRLoss(), 11)
    memory(first, RANKS, ids=RANKS), memory(second, RANKS, ids=RANKS + 10)
    torch.save(memory.state_dict(), tmp_path / "memory.pt")
    resumed = EmbeddingMemory(SupCRLoss(), 11)
    resumed.load_state_dict(torch.load(tmp_path / "memory.pt", weights_only=True))
    assert torch.equal(resumed(third, RANKS, ids=RANKS), memory(third, RANKS, ids=RANKS))
    with pytest.raises(OrdinateError, match="size: got 12, expected 11"):
        EmbeddingMemory(SupCRLoss(), 12).load_state_dict(memory.state_dict())


def test_validation_neither_uses_nor_feeds_the_memory():
    first, second = batches(2)
    memory = EmbeddingMemory(SupCRLoss(), 100)
    memory(first, RANKS)
    memory.eval()
    assert torch.equal(memory(second, RANKS), SupCRLoss()(second, RANKS))
    assert len(memory) == 8


def test_weights_and_labels_of_two_dimensions_reach_the_loss():
    first, second = batches(2)
    memory, targets = EmbeddingMemory(SupCRLoss(), 100), torch.rand(8, 2)
    memory(first, targets)
    weights = torch.linspace(0, 1, 8)
    references = {"ref_emb": torch.cat([second, first]), "ref_labels": targets.repeat(2, 1)}
    references |= {"self_index": torch.arange(8)}
    expected = SupCRLoss()(second, targets, weights=weights, **references)
    assert torch.equal(memory(second, targets, weights=weights), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda memory: memory(torch.zeros(8, 5), RANKS), "embeddings: got 5 dimensions, expected 3"),
        (lambda memory: memory(batches(1)[0], RANKS[:, None].expand(8, 2)), r"labels: got shape \(8, 2\)"),
        (lambda memory: memory(batches(1)[0], RANKS, ids=RANKS), "ids: got them for some batches"),
        (lambda memory: EmbeddingMemory(memory.loss, 0), "size: got 0"),
    ],
)
def test_what_does_not_fit_is_an_error(call, message):
    memory = EmbeddingMemory(SupCRLoss(), 100)
    memory(batches(1)[0], RANKS)
    with pytest.raises(OrdinateError, match=message):
        call(memory)


def test_what_is_loaded_is_a_copy():
    first, second, third = batches(3)
    memory, twin = EmbeddingMemory(SupCRLoss(), 8), EmbeddingMemory(SupCRLoss(), 8)
    memory(first, RANKS)
    state = memory.state_dict()
    twin.load_state_dict(state)
    twin(second, RANKS)  # written over what the memory holds, were it shared
    plain = SupCRLoss()(
        third, RANKS, ref_emb=torch.cat([third, first]), ref_labels=RANKS.repeat(2), self_index=torch.arange(8)
    )
    assert torch.equal(memory(third, RANKS), plain)


def test_half_precision_is_remembered_and_contrasted_in_float32():
    first, second = (z.detach().half() for z in batches(2))
    memory = EmbeddingMemory(SupCRLoss(), 100)
    memory(first, RANKS)
    assert memory.embeddings.dtype == torch.float32
    plain = SupCRLoss()(
        second, RANKS, ref_emb=torch.cat([second, first]), ref_labels=RANKS.repeat(2), self_index=torch.arange(8)
    )
    assert torch.equal(memory(second, RANKS), plain)
