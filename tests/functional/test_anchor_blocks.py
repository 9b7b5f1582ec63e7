"""What holds for every loss because it runs over blocks of anchors."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from ordinate.errors import OrdinateError
from ordinate.functional import supcr, supremix
from tests.functional import brute_force, every_loss
from tests.functional.both_ways import compiled_and_not  # noqa: F401
from tests.functional.every_loss import for_every_loss

RANKS = torch.tensor([0, 1, 2, 3, 4, 0, 2, 4, 1, 4, 4, 1])
REFERENCES = {"ref_emb": brute_force.embeddings(7, seed=1), "ref_labels": torch.tensor([4, 0, 1, 2, 2, 4, 0])}
WEIGHTS = torch.linspace(0, 2, 12)
for_every_block_size = pytest.mark.parametrize("block_size", [1, 2, 5, 11, 12, 100])


@pytest.mark.pairwise
@for_every_loss
@for_every_block_size
@pytest.mark.parametrize("reduction", ["default", "sum", "none"])
@pytest.mark.parametrize("given", [{}, {"weights": WEIGHTS}, REFERENCES], ids=["batch", "weights", "references"])
def test_the_size_of_a_block_changes_nothing(loss, block_size, reduction, given):
    options = given | ({} if reduction == "default" else {"reduction": reduction})
    z = brute_force.embeddings(12)
    leaves = [z, given["ref_emb"]] if "ref_emb" in given else [z]
    outcomes = []
    for size in (block_size, None):
        value = loss(z, RANKS, block_size=size, **options)
        direction = torch.linspace(1, 2, value.numel(), dtype=value.dtype).reshape(value.shape)
        outcomes.append([value, *torch.autograd.grad((value * direction).sum(), leaves)])
    for blocked, whole in zip(*outcomes, strict=True):
        torch.testing.assert_close(blocked, whole, rtol=0, atol=1e-13)


@pytest.mark.pairwise
@for_every_block_size
@pytest.mark.parametrize("similarity", ["neg_l2", "neg_l1", "cosine"])
@pytest.mark.parametrize(
    ("labels", "label_distance"),
    [
        (RANKS, "l1"),
        (brute_force.embeddings(12, 1, seed=2).detach()[:, 0].float(), "l1"),
        (brute_force.embeddings(12, 2, seed=2).detach(), "l2"),
        (brute_force.embeddings(12, 2, seed=2).detach().tanh(), "angular"),
    ],
    ids=["ranks", "line", "plane", "directions"],
)
def test_blocks_of_every_size_are_supcr(block_size, similarity, labels, label_distance):
    def blocked(*args, **options):
        return supcr(*args, block_size=block_size, **options)

    blocked.__name__ = "supcr"
    options = {"similarity": similarity, "label_distance": label_distance}
    brute_force.assert_agrees(blocked, brute_force.embeddings(12), labels, **options)


@pytest.mark.parametrize("block_size", [1, 31, 32, 33, 50, None])
def test_the_shares_that_supremix_draws_do_not_depend_on_the_size_of_a_block(block_size):
    z, labels = brute_force.embeddings(100), torch.arange(100) % 17
    values = [
        supremix(z, labels, temperature=0.5, window=2.0, reduction="none", block_size=size,
                 generator=torch.Generator().manual_seed(3))
        for size in (block_size, 7)
    ]  # fmt: skip
    torch.testing.assert_close(*values, rtol=0, atol=1e-12)


class LargestTensor(TorchDispatchMode):
    """Watches how many numbers the largest tensor that comes up holds."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in tree_iter(result):
            if isinstance(tensor, torch.Tensor):
                self.numel = max(self.numel, tensor.numel())
        return result


@pytest.mark.pairwise
@for_every_loss
@pytest.mark.parametrize("reduction", ["default", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_tensor_over_all_pairs_is_ever_made(loss, reduction, dtype):
    n, block_size = 600, 20
    z, labels = torch.randn(n, 4, dtype=dtype, requires_grad=True), torch.arange(n) % 5
    options = {} if reduction == "default" else {"reduction": reduction}
    if loss is every_loss.supremix:  # shares that are drawn, and a window that holds few
        loss, labels, options = supremix, torch.arange(n), options | {"temperature": 0.5, "window": 2.0}
    with LargestTensor() as largest:
        loss(z, labels, block_size=block_size, **options).sum().backward()
    assert largest.numel <= n * max(block_size, n // 5, 32) * 3


@for_every_loss
def test_a_second_derivative_is_an_error(loss):
    z = brute_force.embeddings(12)
    for reduction in ("sum", "none"):
        with pytest.raises(OrdinateError, match="create_graph: got True"):
            torch.autograd.grad(loss(z, RANKS, reduction=reduction).sum(), z, create_graph=True)


@for_every_loss
def test_the_loss_composes_with_what_stands_before_and_after_it(loss):
    layer = torch.nn.Linear(3, 4, dtype=torch.float64)
    x = brute_force.embeddings(12).detach()

    def outer(weight):
        embeddings = torch.nn.functional.linear(x, weight, layer.bias).tanh()
        return loss(embeddings, RANKS).square() + embeddings.square().mean()

    assert torch.autograd.gradcheck(outer, layer.weight.detach().requires_grad_(), atol=1e-7)


@pytest.mark.thorough
@pytest.mark.typical("torch-supcr", "torch-supremix")
@for_every_loss
def test_a_compiled_model_trains_on_it(loss):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
    x = brute_force.embeddings(12).detach().float()

    def step(x):
        return loss(model(x), RANKS)

    plain, compiled = step(x), torch.compile(step, backend="eager")(x)
    torch.testing.assert_close(plain, compiled, rtol=1e-6, atol=0)
    gradients = [torch.autograd.grad(value, list(model.parameters())) for value in (plain, compiled)]
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-7)
