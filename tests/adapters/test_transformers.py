"""The losses in transformers' Trainer: what it sees, what accumulation sums, what it trains and decays."""

import copy

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel, Trainer, TrainingArguments

from ordinate import functional
from ordinate.adapters import trainer_loss
from ordinate.errors import OrdinateError
from ordinate.losses import AngularTriangleLoss, MMNPLoss, SupCRLoss, SupReMixLoss
from tests import processes

LOSSES = {
    "supcr": SupCRLoss,
    "mmnp": lambda: MMNPLoss(4),
    "supremix": lambda: SupReMixLoss(temperature=0.5, window=2.0, mix_negatives=False),
    "angular_triangle": lambda: AngularTriangleLoss(4),
}
for_every_loss = pytest.mark.parametrize("name", LOSSES)


class Network(nn.Module):
    """A network whose outputs have embeddings, and that keeps the batches it got."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3)).double()
        self.batches = []

    def forward(self, x):
        self.batches.append(x.detach().clone())
        return {"embeddings": self.layers(x)}


def rank_of(x):
    """The target that the samples' first number tells."""
    return x[:, 0].round().long() % 4


def samples(n):
    x = torch.randn(n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    x[:, 0] = torch.arange(n)
    return [{"x": row, "label": rank} for row, rank in zip(x, rank_of(x).tolist(), strict=True)]


def train(model, compute_loss, folder, n=20, **options):
    settings = {
        "per_device_train_batch_size": 8, "num_train_epochs": 1, "learning_rate": 0.1, "lr_scheduler_type": "constant",
        "optim": "sgd", "max_grad_norm": 0, "logging_steps": 1, "report_to": [], "use_cpu": True,
        "save_strategy": "no", "disable_tqdm": True,
    }  # fmt: skip
    args = TrainingArguments(str(folder), **settings | options)
    trainer = Trainer(model, args, train_dataset=samples(n), compute_loss_func=compute_loss)
    trainer.train()
    return [step["loss"] for step in trainer.state.log_history if "loss" in step]


@for_every_loss
def test_a_step_is_the_mean_of_its_accumulated_batches_weighted_by_their_samples(name, tmp_path):
    model, loss = Network(), LOSSES[name]().double()
    compute_loss = trainer_loss(loss, model=model)
    twin, twin_loss = copy.deepcopy((model, loss))
    (logged,) = train(model, compute_loss, tmp_path, gradient_accumulation_steps=3)

    assert [len(batch) for batch in model.batches] == [8, 8, 4]
    losses = [twin_loss(twin.layers(batch), rank_of(batch)) for batch in model.batches]
    expected = (8 * losses[0] + 8 * losses[1] + 4 * losses[2]) / 20
    assert logged == pytest.approx(expected.item(), rel=1e-6)  # Trainer logs float32
    (expected * 0.1).backward()
    trained = {**dict(model.layers.named_parameters()), **dict(loss.named_parameters())}
    before = {**dict(twin.layers.named_parameters()), **dict(twin_loss.named_parameters())}
    for parameter, value in trained.items():
        torch.testing.assert_close(value, before[parameter] - before[parameter].grad, rtol=0, atol=1e-12)


def test_margins_are_part_of_the_model_and_have_no_decay(tmp_path):
    model, loss = Network(), MMNPLoss(4).double()
    compute_loss = trainer_loss(loss, model=model)
    twin, twin_loss = copy.deepcopy((model, loss))
    train(model, compute_loss, tmp_path, n=8, weight_decay=0.5)
    twin_loss(twin.layers(model.batches[0]), rank_of(model.batches[0])).backward()
    torch.testing.assert_close(loss.raw, twin_loss.raw - 0.1 * twin_loss.raw.grad, rtol=0, atol=1e-12)
    weight = twin.layers[0].weight
    torch.testing.assert_close(model.layers[0].weight, weight - 0.1 * (weight.grad + 0.5 * weight), rtol=0, atol=1e-12)
    assert any(parameter is loss.raw for parameter in model.parameters())


def test_a_transformers_pooled_output_is_the_embedding(tmp_path):
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertModel(BertConfig(vocab_size=20, **shape))
    tokens = torch.randint(1, 20, (8, 5))
    targets = torch.linspace(0, 1, 8)
    data = [{"input_ids": row, "label": target} for row, target in zip(tokens, targets.tolist(), strict=True)]
    args = TrainingArguments(str(tmp_path), label_names=["labels"], report_to=[], use_cpu=True, disable_tqdm=True)
    outputs = model.eval()(tokens)
    for embeddings, z in {
        None: outputs.pooler_output,
        (lambda outputs: outputs.last_hidden_state[:, 0]): outputs.last_hidden_state[:, 0],
    }.items():
        trainer = Trainer(
            model, args, eval_dataset=data, compute_loss_func=trainer_loss(SupCRLoss(), embeddings=embeddings)
        )
        assert trainer.evaluate()["eval_loss"] == pytest.approx(functional.supcr(z, targets).item(), rel=1e-5)


def test_embeddings_are_found_or_asked_for():
    z, labels = torch.randn(8, 3), torch.arange(8.0)
    expected = SupCRLoss()(z, labels)
    assert trainer_loss(SupCRLoss())(z, labels) == expected
    assert trainer_loss(SupCRLoss())({"embeddings": z, "pooler_output": z + 1}, labels) == expected
    assert trainer_loss(SupCRLoss(), embeddings="image_embeds")({"image_embeds": z}, labels) == expected
    message = "embeddings: got outputs logits, loss, expected embeddings or pooler_output; give a function"
    with pytest.raises(OrdinateError, match=message):
        trainer_loss(SupCRLoss())({"logits": z, "loss": z}, labels)
    with pytest.raises(OrdinateError, match="embeddings: got outputs Tensor, expected image_embeds"):
        trainer_loss(SupCRLoss(), embeddings="image_embeds")(z, labels)
    with pytest.raises(OrdinateError, match=r'labels: expected a tensor; .* label_names=\["labels"\]'):
        trainer_loss(SupCRLoss())(z, None)


def in_two_processes(rank, folder):
    model, loss = Network(), MMNPLoss(4).double()
    options = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "ddp_backend": "gloo"}
    start = loss.raw.detach().clone()
    logged = train(model, trainer_loss(loss, model=model), folder, n=32, ddp_find_unused_parameters=False, **options)
    return {
        "logged": logged,
        "start": start,
        "batches": model.batches,
        "trained": [*model.layers.parameters(), loss.raw],
    }


@pytest.mark.thorough
def test_in_several_processes_a_batch_is_that_of_all_of_them(tmp_path):
    outcomes = processes.together(2, in_two_processes, tmp_path / "meeting", str(tmp_path / "out"))
    joined = [torch.cat(batches) for batches in zip(*(outcome["batches"] for outcome in outcomes), strict=True)]
    assert [len(batch) for batch in joined] == [8] * 4
    model, loss = Network(), MMNPLoss(4).double()
    loss.raw.data.copy_(outcomes[0]["start"])
    trained = [*model.layers.parameters(), loss.raw]
    optimizer = torch.optim.SGD(trained, lr=0.1)
    for step, batches in enumerate((joined[:2], joined[2:])):
        expected = sum(loss(model.layers(batch), rank_of(batch)) for batch in batches) / 2
        assert outcomes[0]["logged"][step] == pytest.approx(expected.item(), rel=1e-6)
        optimizer.zero_grad()
        expected.backward()
        optimizer.step()
    for outcome in outcomes:
        for value, single in zip(outcome["trained"], trained, strict=True):
            torch.testing.assert_close(value, single, rtol=0, atol=1e-12)
