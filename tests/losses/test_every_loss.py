"""What every loss module promises: it is its formula, with every option, and holds nothing but margins."""

import copy
import inspect
import pickle
import re
import warnings

import pytest
import torch

from ordinate import functional
from ordinate.errors import OrdinateError
from ordinate.losses import AngularTriangleLoss, MMNPLoss, SupCRLoss, SupReMixLoss
from tests.functional.brute_force import embeddings

RANKS = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 3])
GIVEN = {
    "mmnp": {"num_classes": 4},
    "supremix": {"temperature": 0.5, "window": 2.0},
    "angular_triangle": {"num_classes": 4},
}
LOSSES = {
    "supcr": SupCRLoss,
    "mmnp": lambda **options: MMNPLoss(**GIVEN["mmnp"], **options),
    "supremix": lambda **options: SupReMixLoss(**GIVEN["supremix"], **options),
    "angular_triangle": lambda **options: AngularTriangleLoss(**GIVEN["angular_triangle"], **options),
}
NOT_TAKEN = {"margins", "neg_mix", "group"}  # held by the module, fixed by those who fix every share, found by itself
for_every_loss = pytest.mark.parametrize("name", LOSSES)


@for_every_loss
def test_the_module_takes_the_options_of_its_formula_with_the_same_defaults(name):
    module = type(LOSSES[name]())
    taken = inspect.signature(module).parameters | inspect.signature(module.forward).parameters
    for option, parameter in inspect.signature(getattr(functional, name)).parameters.items():
        if option not in NOT_TAKEN:
            assert taken[option].default == parameter.default


@for_every_loss
def test_the_module_explains_each_option_in_the_words_of_its_options(name):
    module = LOSSES[name]()
    explained = descriptions(type(module))
    assert set(explained) == set(inspect.signature(type(module)).parameters)
    options = descriptions(type(module.options)).items()
    assert options <= explained.items()
    if name != "mmnp":  # The function takes the margins themselves.
        assert options <= descriptions(getattr(functional, name)).items()


def descriptions(kind):
    """Return the descriptions of arguments in a docstring, by name."""
    section = inspect.getdoc(kind).partition("Args:\n")[2].partition("\n\n")[0]
    return dict(re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, flags=re.MULTILINE))


@for_every_loss
def test_a_compiled_step_breaks_once_and_has_the_same_gradient(name):
    module, weight = LOSSES[name](), torch.randn(3, 3, dtype=torch.float64, requires_grad=True)

    def step(z):
        torch.manual_seed(0)
        return 2 * module(z @ weight, RANKS)

    torch._dynamo.reset()
    assert torch._dynamo.explain(step)(embeddings(9)).graph_break_count <= 2  # The seed is the other.
    gradients = [
        torch.autograd.grad(each(embeddings(9)), weight)[0] for each in (step, torch.compile(step, backend="aot_eager"))
    ]
    assert torch.equal(*gradients)


@for_every_loss
def test_only_margins_are_parameters_or_state(name):
    module = LOSSES[name]()
    expected = {"raw", "fixed", "fixed_margins"} if name == "mmnp" else set()
    assert set(module.state_dict()) == expected
    assert [parameter for parameter, _ in module.named_parameters()] == sorted(expected & {"raw"})


@for_every_loss
def test_a_copy_is_the_same_loss(name):
    module = LOSSES[name](reduction="none")
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        values = [draw_alike(loss, embeddings(9), RANKS) for loss in (twin, module)]
        assert torch.equal(*values)


def draw_alike(loss, *args, **options):
    """The loss with the random state of every other call."""
    torch.manual_seed(0)
    return loss(*args, **options)


@for_every_loss
def test_references_and_weights_reach_the_formula(name):
    module, z = LOSSES[name](), embeddings(9)
    references = {"ref_emb": embeddings(6, seed=1), "ref_labels": torch.tensor([0, 1, 2, 3, 2, 0])}
    weights = {"weights": torch.linspace(0.1, 2, 9)}
    values = [draw_alike(module, z, RANKS, **given) for given in ({}, references, weights, references | weights)]
    formula = [
        draw_alike(formula_of(module), z, RANKS, **given) for given in ({}, references, weights, references | weights)
    ]
    assert values == formula
    assert len({value.item() for value in values}) == 4


@for_every_loss
def test_the_gradient_of_the_module_is_that_of_its_formula(name):
    module, z, weights = LOSSES[name](), embeddings(9), torch.linspace(0.1, 2, 9, requires_grad=True)
    gradients = [
        torch.autograd.grad(draw_alike(loss, z, RANKS, weights=weights), (z, weights))
        for loss in (module, formula_of(module))
    ]
    assert all(map(torch.equal, *gradients))
    assert bool(gradients[0][1].abs().max() > 0)


def formula_of(module):
    """The pure function with the arguments that the module was made with."""
    match module:
        case SupCRLoss():
            return functional.supcr
        case MMNPLoss():
            return lambda z, y, **given: functional.mmnp(z, y, module.margins, **given)
        case SupReMixLoss():
            return lambda z, y, **given: functional.supremix(z, y, temperature=0.5, window=2.0, **given)
        case AngularTriangleLoss():
            return lambda z, y, **given: functional.angular_triangle(z, y, 4, **given)


REFUSED = {
    "supcr": {
        "temperature": [0, -1.0, float("nan"), "2", None, True],
        "similarity": ["l2", None],
        "label_distance": ["cosine", None],
        "num_positives": [0, 2.5, "all"],
        "tie_tolerance": [-1e-6, float("inf"), None],
    },
    "mmnp": {"floor": [-1.0, "0"]},
    "supremix": {
        "temperature": [0, "1"],
        "window": [0, float("inf"), None],
        "beta": [(0, 8), 2.0, (2.0,), None],
        "label_range": [0, -1.0, "auto"],
    },
    "angular_triangle": {"num_classes": [1, 5.0, None]},
}
OF_ALL = {"reduction": ["avg", None], "block_size": [0, 2.5, "8"]}


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        (name, option, value)
        for name in LOSSES
        for option, values in (REFUSED[name] | OF_ALL).items()
        for value in values
    ],
)
def test_an_option_that_cannot_be_used_is_refused_where_the_module_is_made_as_by_its_formula(name, option, value):
    kind = type(LOSSES[name]())
    with pytest.raises(OrdinateError, match=rf"^{option}: got ") as refused:
        kind(**GIVEN.get(name, {}) | {option: value})
    if option != "floor":  # which the formula does not have
        formula = getattr(functional, name)
        given = GIVEN.get(name, {}) if name != "mmnp" else {"margins": torch.ones(3)}
        with pytest.raises(OrdinateError) as refused_there:
            formula(embeddings(9), RANKS, **given | {option: value})
        assert str(refused.value) == str(refused_there.value)


@for_every_loss
def test_a_module_shows_every_setting_it_was_made_with(name):
    module = LOSSES[name]()
    for option, parameter in inspect.signature(type(module)).parameters.items():
        expected = GIVEN.get(name, {}).get(option, parameter.default)
        assert f"{option}={expected!r}" in repr(module)


@for_every_loss
def test_the_batch_given_as_its_own_references_is_that_of_no_references(name):
    loss, z = LOSSES[name](), embeddings(9)
    given = {"generator": torch.Generator().manual_seed(0)} if name == "supremix" else {}
    again = {"generator": torch.Generator().manual_seed(0)} if name == "supremix" else {}
    assert torch.equal(loss(z, RANKS, z, RANKS, **given), loss(z, RANKS, **again))


@for_every_loss
def test_a_batch_among_its_references_without_its_places_is_told(name):
    loss, z, memory = LOSSES[name](), embeddings(9), embeddings(6, seed=1)
    ranks, of_memory = RANKS, torch.tensor([0, 1, 2, 3, 2, 0])
    with pytest.warns(UserWarning, match=r"self_index=torch.arange\(9\)"):
        loss(z, ranks, torch.cat([z, memory]), torch.cat([ranks, of_memory]))
    with pytest.warns(UserWarning, match=r"self_index=torch.arange\(m - 9, m\)"):
        loss(z, ranks, torch.cat([memory, z]), torch.cat([of_memory, ranks]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(z, ranks, torch.cat([z, memory]), torch.cat([ranks, of_memory]), self_index=torch.arange(9))
        loss(z, ranks, memory, of_memory)


def test_options_of_modules_are_checked():
    with pytest.raises(OrdinateError, match=r"gather_distributed: got 'no', expected True or False"):
        SupCRLoss(gather_distributed="no")
    with pytest.raises(OrdinateError, match=r"similarity: got 'cosin', expected .*; did you mean 'cosine'"):
        SupCRLoss(similarity="cosin")
