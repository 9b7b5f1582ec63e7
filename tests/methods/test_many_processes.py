"""Training in several real processes ends with the weights of one process."""

import pytest
import torch

from ordinate.data.samplers import RankBatches, ShuffledBatches
from ordinate.encoders import MLP
from ordinate.methods import CLOC, OTD, Optimization, SupCR, SupReMix
from ordinate.training.loop import ArrayBatches, train
from tests import processes

X = torch.randn(50, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
RANKS = torch.arange(50) % 4
TARGETS = (X[:, :1] + RANKS[:, None]).double()
PLAIN = {"optimization": Optimization("sgd", learning_rate=0.05)}
REGRESSION = {"embedding_dim": 3, "epochs": (2, 2), "head_optimization": PLAIN["optimization"]}
METHODS = {
    "cloc": lambda encoder: CLOC(encoder, 3, 4, phase_epochs=(2, 2), target_accuracy=0.3, **PLAIN),
    "otd": lambda encoder: OTD(encoder, 4, epochs=3, **PLAIN),
    "otd_balanced": lambda encoder: OTD(encoder, 4, epochs=3, by_rank=True, **PLAIN),
    "supcr": lambda encoder: SupCR(encoder, **REGRESSION, scheme="regularise", **PLAIN),
    "supcr_in_chunks": lambda encoder: SupCR(encoder, **REGRESSION, chunk_size=2, **PLAIN),
    "accumulated": lambda encoder: SupCR(encoder, **REGRESSION, scheme="fine_tune", **PLAIN),
    "supremix": lambda encoder: SupReMix(encoder, **REGRESSION, window=2.0, mix_negatives=False, **PLAIN),
}
OPTIONS = {"accumulated": {"accumulate_grad_batches": 3}}


def trained(name):
    """The weights and the history of a method, trained in all processes there are."""
    torch.manual_seed(0)
    method = METHODS[name](MLP(5, 3, widths=(8,), activation="silu").double()).double()
    ranked = name.startswith(("cloc", "otd"))
    labels = RANKS if ranked else TARGETS
    if ranked:
        batches = RankBatches(RANKS.numpy(), 13, required={0: 1, 3: 2}, distinct=2, seed=1)
    else:
        batches = ShuffledBatches(len(labels), 13, seed=1)
    data, validation = ArrayBatches(X, labels), ArrayBatches(X[:20], labels[:20])
    train(method, data, batches, validation, accelerator="cpu", progress=False, **OPTIONS.get(name, {}))
    return {"weights": method.state_dict(), "history": method.history}


def train_every_method(_):
    return {name: trained(name) for name in METHODS}


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.thorough)])
def outcomes(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes") / "meeting"
    return processes.together(request.param, train_every_method, folder)


@pytest.mark.parametrize("name", METHODS)
def test_training_ends_with_the_weights_and_the_history_of_one_process(outcomes, name):
    expected = trained(name)
    for outcome in outcomes:
        assert outcome[name]["weights"].keys() == expected["weights"].keys()
        for key, weight in outcome[name]["weights"].items():
            torch.testing.assert_close(weight, expected["weights"][key], rtol=1e-6, atol=1e-8)
        for epoch, alone in zip(outcome[name]["history"], expected["history"], strict=True):
            assert epoch == pytest.approx(alone, rel=1e-5, abs=1e-7)
