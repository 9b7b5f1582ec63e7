"""Effects of differences from the authors' code: the reference is their loop, and summaries are what runs give."""

import json

import pytest
import torch
from torch import nn

import published_arms
from grid import read_cells
from ordinate.randomness import own_random_numbers
from ordinate_papers.published.cloc import cloc_loop
from published_arms import Samples
from published_loops import ARMS, RESULTS, effect_of, summary, summary_of

EVERY_ARM = [(paper, arm) for paper, arms in ARMS.items() for arm in arms]


@pytest.fixture
def small(monkeypatch):
    """Samples of random numbers instead of the data, and few epochs."""
    x = torch.rand(120, 3, generator=torch.Generator().manual_seed(0))
    y = 100 + 10 * x[:, 0] + x[:, 1]
    tables = Samples(x[:80], y[:80], x[80:100], y[80:100], x[100:], y[100:])
    pixels = torch.rand(60, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    ranks = torch.arange(60) % 5
    images = Samples(pixels[:40], ranks[:40], pixels[:0], ranks[:0], pixels[40:], ranks[40:])
    monkeypatch.setattr(published_arms, "airfoil", lambda: tables)
    monkeypatch.setattr(published_arms, "retinas", lambda: images)
    monkeypatch.setattr(published_arms, "EPOCHS", {"supcr": 2, "supremix": 2, "probe": 3, "l1": 2, "cloc": 4})
    monkeypatch.setattr(published_arms, "BATCH", {"supcr": 32, "supremix": 16, "cloc": 20})
    trained = published_arms.published_supcr, published_arms.published_supremix
    for each in trained:
        each.cache_clear()
    yield
    for each in trained:
        each.cache_clear()


def assert_same_weights(ours, theirs):
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(one, other)


def test_without_differences_encoders_are_those_of_the_authors_loops(small):
    assert_same_weights(published_arms.supcr_encoder(1), published_arms.published_supcr(1).encoder)
    assert_same_weights(published_arms.supremix_encoder(1), published_arms.published_supremix(1).encoder)


def test_without_differences_a_classifier_is_that_of_the_authors_step(small):
    with own_random_numbers(1):
        classifier = nn.Sequential(nn.Linear(64, 5))
    network = nn.Sequential(published_arms.convolutions(1), classifier)
    data = published_arms.retinas()
    cloc_loop(network, data.x, data.y, 5, epochs=4, batch_size=20, seed=1)
    assert published_arms.of_cloc(1).items() >= published_arms.of_ranks(network).items()


@pytest.mark.parametrize(("paper", "arm"), EVERY_ARM)
def test_an_arm_runs_and_differs_from_its_reference(small, paper, arm):
    one = ARMS[paper][arm]
    error = one.measure(0, **one.differences)["error"]
    assert error >= 0
    if one.reference:
        assert one.differences != ARMS[paper][one.reference].differences
        assert one.measure is ARMS[paper][one.reference].measure


def test_an_effect_is_the_mean_of_paired_differences_with_its_interval():
    errors = {"logits": [1.0, 2.0, 4.0], "embeddings": [1.5, 2.0, 5.0]}
    runs = [
        {"paper": "cloc", "arm": arm, "seed": seed, "error": error, "share": 0.1 * (seed + 1)}
        for arm, values in errors.items()
        for seed, error in enumerate(values)
    ]
    effect = effect_of([*runs, {"paper": "cloc", "arm": "logits", "seed": 3, "error": 99.0}], "cloc", "embeddings")
    assert (effect.error, effect.reference, effect.change) == (pytest.approx(2.833333), pytest.approx(2.333333), 0.5)
    assert effect.interval == pytest.approx(4.302653 * 0.5 / 3**0.5, abs=1e-5)
    assert (effect.seeds, effect.share, effect.reference_share) == (3, pytest.approx(0.2), pytest.approx(0.2))


def test_the_committed_summary_is_that_of_the_committed_runs():
    runs = read_cells(RESULTS)
    assert json.loads(summary_of(RESULTS).read_text()) == json.loads(json.dumps(summary(runs)))
    assert {(run["paper"], run["arm"]) for run in runs} == {
        (paper, arm) for paper, arms in ARMS.items() for arm in arms
    }
