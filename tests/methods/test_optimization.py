"""What weight decay belongs to, and that every step of a training moves what it trains."""

import pytest
import timm
import torch
from torch import nn

from ordinate import CLOCClassifier
from ordinate.encoders.periodic import PeriodicEmbedding
from ordinate.losses import SupCRLoss
from ordinate.methods import CLOC, OTD, Optimization, SupCR, SupReMix
from ordinate.methods.optimization import undecayed_parameters
from ordinate.methods.rivals.dino import DINO, DINORegression
from ordinate.methods.rivals.drawn_views import TableViews
from ordinate.methods.rivals.end_to_end import EndToEnd
from ordinate.methods.rivals.gol import GOL
from ordinate.methods.rivals.mwr import MWR
from ordinate.methods.rivals.ordinal import Ordinal
from ordinate.methods.rivals.pairs import build_pair_loss
from ordinate.methods.rivals.poe import POE, GaussianEncoder
from ordinate.methods.rivals.representation import Representation, RepresentationRegression
from tests.estimators.examples import draw_table, ranks_of
from tests.methods.examples import DIM, encoder, ranks, targets, train, watch

VIEWS = TableViews([1, 1, 1])
WARM = Optimization()  # a learning rate that starts and ends at 0
ONE = {"epochs": 1, "optimization": WARM}
TWO = {"epochs": (1, 1), "optimization": WARM, "head_optimization": WARM}


def ordinal(loss):
    return lambda: (Ordinal(encoder(), DIM, 4, loss=loss, **ONE), ranks())


METHODS = {
    "cloc": lambda: (CLOC(encoder(), DIM, 4, phase_epochs=(1, 1), optimization=WARM), ranks()),
    "otd": lambda: (OTD(encoder(), 4, **ONE), ranks()),
    "supcr": lambda: (SupCR(encoder(), DIM, **TWO), targets()),
    "supcr, fine-tuned": lambda: (SupCR(encoder(), DIM, scheme="fine_tune", **TWO), targets()),
    "supremix": lambda: (SupReMix(encoder(), DIM, window=1.0, **TWO), targets()),
    "end to end": lambda: (EndToEnd(encoder(), DIM, **ONE), targets()),
    "cross-entropy": ordinal("cross_entropy"),
    "or": ordinal("or"),
    "corn": ordinal("corn"),
    "coral": ordinal("coral"),
    "poe": lambda: (POE(GaussianEncoder(nn.Linear(3, 2 * DIM), DIM), 4, **ONE), ranks()),
    "gol": lambda: (GOL(encoder(), DIM, 4, **ONE), ranks()),
    "mwr": lambda: (MWR(encoder(), DIM, **ONE), ranks()),
    "triplet": lambda: (Representation(encoder(), DIM, build_pair_loss("triplet"), **ONE), ranks()),
    "rnc": lambda: (Representation(encoder(), DIM, SupCRLoss(), **ONE), ranks()),
    "supcon, then a head": lambda: (
        RepresentationRegression(encoder(), DIM, build_pair_loss("supcon"), **TWO), supcon_targets(),
    ),
    "dino": lambda: (DINO(encoder(), DIM, draw=VIEWS, **ONE), ranks()),
    "dino, then a head": lambda: (DINORegression(encoder(), DIM, draw=VIEWS, **TWO), targets()),
}  # fmt: skip


def supcon_targets():
    data = targets()
    data.y = (data.y - data.y.min()).round()
    return data


@pytest.mark.parametrize("build", METHODS.values(), ids=METHODS)
def test_a_single_step_trains_every_stage(build):
    method, data = build()
    watched = watch(method, data, batch_size=len(data))
    assert len(watched.rates) == len(method.stages)
    assert watched.changes("") == [True] * len(method.stages)
    assert all(min(rates) > 0 for rates in ([rate[stage]] for stage, rate in enumerate(watched.rates)))


class Tokens(nn.Module):
    """Names what has no decay, as networks of timm do."""

    def __init__(self):
        super().__init__()
        self.place = nn.Parameter(torch.ones(2, 3))
        self.table = nn.Parameter(torch.ones(2, 3))

    def no_weight_decay(self):
        return {"place"}


def names_of(parameters, module):
    wanted = {id(parameter) for parameter in parameters}
    return {name for name, parameter in module.named_parameters() if id(parameter) in wanted}


def test_biases_gains_and_what_a_module_names_have_no_decay_and_matrices_have():
    module = nn.ModuleDict(
        {"linear": nn.Linear(3, 4), "norm": nn.LayerNorm(4), "waves": PeriodicEmbedding(3, [0, 2]), "deep": Tokens()}
    )
    undecayed = {"linear.bias", "norm.weight", "norm.bias", "waves.bias", "deep.place"}
    assert names_of(undecayed_parameters(module), module) == undecayed
    assert module["waves"].bias.ndim == 2  # known by its name, not by its shape
    decayed, others = (
        Optimization("adamw", 1e-3, 7.0).build(module.parameters(), undecayed_parameters(module)).param_groups
    )
    assert (decayed["weight_decay"], others["weight_decay"]) == (7.0, 0.0)
    assert names_of(others["params"], module) == undecayed
    assert names_of(decayed["params"], module) == {name for name, _ in module.named_parameters()} - undecayed


def test_what_timm_names_in_a_network_has_no_decay():
    network = timm.create_model("test_vit")
    undecayed = names_of(undecayed_parameters(nn.Sequential(network)), network)
    assert {"pos_embed", "cls_token"} <= undecayed
    assert "blocks.0.mlp.fc1.weight" not in undecayed


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("options", [{}, {"margins": {(1, 2): 0.9}}, {"shared": True}, {"floor": 0.4}])
def test_margins_without_a_gradient_stay_where_they_are(optimizer, options):
    heavy = Optimization(optimizer, 1e-2, 3.0)
    method = CLOC(encoder(), DIM, 4, mmnp_weight=0.0, phase_epochs=(5, 5), optimization=heavy, **options)
    before = method.mmnp.raw.detach().clone()
    train(method, ranks())
    assert torch.equal(method.mmnp.raw, before)


class WithoutMMNP(CLOCClassifier):
    """CLOC whose margins have no gradient."""

    def _build_method(self, encoder):
        method = super()._build_method(encoder)
        method.mmnp_weight = 0.0
        return method


def test_margins_of_an_estimator_that_have_no_gradient_stay_under_its_own_decay():
    X, target = draw_table()
    model = WithoutMMNP(phase_epochs=(20, 5), target_accuracy=1.0, random_state=0).fit(X, ranks_of(target))
    assert model.method_.stages[0].optimization.weight_decay == 3.0
    for boundary in (0, 1):
        (kept,) = {epoch[f"margin_{boundary}|{boundary + 1}"] for epoch in model.history_}
        assert kept == pytest.approx(model.margins_[boundary], abs=1e-6)
