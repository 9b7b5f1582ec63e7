"""Time and memory of the losses: the baselines compute the same values, and the measurements are right."""

import json
import sys

import matplotlib.image
import numpy as np
import pytest
import torch

import losses
import published_losses
from losses import CONTENDERS, PRODUCTS, SUPCON, TRIPLET, Setting, name_of_published

CUBIC, QUADRATIC = "mmnp published", "mmnp"


def draw(n, *, ranks, dtype=torch.float64):
    return Setting(4, dtype, "cpu").draw(n, ranks=ranks)


def assert_same(ours, theirs, embeddings):
    (gradient,) = torch.autograd.grad(ours, embeddings)
    (their_gradient,) = torch.autograd.grad(theirs, embeddings)
    torch.testing.assert_close(theirs, ours, rtol=0, atol=1e-9)
    torch.testing.assert_close(their_gradient, gradient, rtol=0, atol=1e-9)
    assert gradient.norm() > 1e-3


@pytest.mark.parametrize("n", [16, 33])
@pytest.mark.parametrize("loss", ["supcr", "mmnp", "angular_triangle"])
def test_a_published_loop_has_the_value_and_the_gradient_of_the_loss(loss, n):
    embeddings, labels = draw(n, ranks=CONTENDERS[loss].ranks)
    labels = labels if CONTENDERS[loss].ranks else labels.double()
    published = CONTENDERS[name_of_published(loss)].loss(embeddings, labels)
    assert_same(CONTENDERS[loss].loss(embeddings, labels), published, embeddings)


@pytest.mark.parametrize("n", [16, 33])
def test_materialised_mixtures_have_the_value_and_the_gradient_of_the_loss(n):
    neg_mix = torch.rand(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    embeddings, labels = draw(n, ranks=False)
    labels = labels.double()
    published = published_losses.supremix(embeddings, labels, 0.5, losses.window(labels), neg_mix)
    assert_same(losses.our_supremix(embeddings, labels, neg_mix), published, embeddings)


def run_script(monkeypatch, folder, *arguments):
    paths = ["--results", str(folder / "bench.json"), "--picture", str(folder / "bench.png")]
    command = ["losses.py", "--losses", "mmnp", "--repeats", "2", "--device", "cpu", "--dim", "8", *paths, *arguments]
    monkeypatch.setattr(sys, "argv", command)
    losses.main()
    return json.loads((folder / "bench.json").read_text(), parse_constant=pytest.fail)


@pytest.mark.thorough
def test_the_script_writes_all_figures_and_a_picture(tmp_path, monkeypatch, capsys):
    results = run_script(monkeypatch, tmp_path, "--sizes", "128", "16")
    assert results["settings"] == {"losses": ["mmnp"], "sizes": [16, 128], "dim": 8, "dtype": "float32", "repeats": 2}
    assert results["machine"]["threads"] == torch.get_num_threads()
    assert results["stopped"] == {}
    contenders = ["mmnp", "mmnp published", SUPCON, TRIPLET, PRODUCTS]
    assert [(run["n"], run["contender"]) for run in results["runs"]] == [(n, c) for n in (16, 128) for c in contenders]
    for run in results["runs"]:
        assert len(run["seconds"]) == 2
        assert run["median_seconds"] == np.median(run["seconds"]) > 0
        assert (run["peak_bytes"] is None) == (run["n"] == 16)
    small, large = results["figures"]["mmnp"]
    assert {name for name, value in small.items() if value is None} == {"mebibytes", "published_memory"}
    assert all(value is not None for value in large.values())
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["128", f"{large['milliseconds']:.3g}"] in [line[:2] for line in lines]
    picture = matplotlib.image.imread(tmp_path / "bench.png")
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20
