"""Time and memory of the losses: the baselines compute the same values, and the measurements are right."""

import json
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
import torch
from pytorch_metric_learning.losses import SupConLoss, TripletMarginLoss

import losses
import published_losses
from losses import CONTENDERS, LOSSES, PRODUCTS, SUPCON, TRIPLET, Climb, Contender, Pass, Setting, name_of_published

SETTING = Setting(dim=8, dtype=torch.float32, device="cpu")
MEBIBYTE = 2**20
GIBIBYTE = 2**30
CUBIC, QUADRATIC = "mmnp published", "mmnp"


def draw(n, *, ranks, dtype=torch.float64):
    return Setting(4, dtype, "cpu").draw(n, ranks=ranks)


def stand_in(monkeypatch, loss):
    """Let ``loss`` run as the contender "x" in this process."""
    monkeypatch.setitem(CONTENDERS, "x", Contender(loss, ranks=True))


# The baselines


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


def test_published_mixtures_draw_their_own_shares():
    embeddings, labels = draw(16, ranks=False)
    first, second = (published_losses.supremix(embeddings, labels, 0.5, 50.0) for _ in range(2))
    assert first != second
    assert abs(first - second) < 0.5


@pytest.mark.parametrize("loss", LOSSES)
def test_published_loops_run_in_the_dtype_of_the_embeddings(loss):
    embeddings, labels = draw(16, ranks=CONTENDERS[loss].ranks, dtype=torch.float32)
    assert CONTENDERS[name_of_published(loss)].loss(embeddings, labels).dtype == torch.float32


@pytest.mark.parametrize(("name", "theirs"), [(SUPCON, SupConLoss), (TRIPLET, TripletMarginLoss)])
def test_metric_learning_losses_are_those_of_the_package(name, theirs):
    embeddings, labels = draw(16, ranks=True)
    assert CONTENDERS[name].loss(embeddings, labels) == theirs()(embeddings, labels)


@pytest.mark.parametrize("block", [4, 1024])
def test_the_products_are_the_gram_matrix_and_a_gradient_for_rows_and_columns(block):
    embeddings, labels = draw(10, ranks=True)
    losses.matrix_products(embeddings, labels, block).backward()
    gram = embeddings.detach() @ embeddings.detach().T
    torch.testing.assert_close(embeddings.grad, 2 * gram @ embeddings.detach(), rtol=1e-12, atol=0)


def test_without_pytorch_metric_learning_its_losses_are_left_out(monkeypatch):
    assert losses.contenders_of(["mmnp"]) == ["mmnp", "mmnp published", SUPCON, TRIPLET, PRODUCTS]
    assert set(losses.contenders_of(LOSSES)) == set(CONTENDERS)
    monkeypatch.setattr(losses, "find_spec", lambda name: None)
    assert losses.contenders_of(["mmnp"]) == ["mmnp", "mmnp published", PRODUCTS]


def test_ranks_have_equal_sizes_and_targets_fill_their_range():
    embeddings, ranks = draw(100, ranks=True)
    _, targets = draw(100, ranks=False)
    assert embeddings.requires_grad
    assert (embeddings.shape, embeddings.dtype) == ((100, 4), torch.float64)
    assert ranks.bincount().tolist() == [20] * 5
    assert 0 <= targets.min() < 10
    assert 90 < targets.max() <= 100
    assert len(targets.unique()) == 100


# One pass

PASS_OF_KNOWN_SIZE = f"""
import sys
import torch
sys.path.append({str(Path(losses.__file__).parent)!r})
import losses

def run():
    first = torch.ones(40 * 2**20, dtype=torch.uint8)  # The C library may keep up to 32 MiB.
    del first
    second = torch.ones(56 * 2**20, dtype=torch.uint8)
    return float(second[0])

held = torch.ones(64 * 2**20, dtype=torch.uint8)
run()  # The first pass loads libraries.
result, peak = losses.with_peak(run, "cpu")
print(result, len(held), peak)
"""


@pytest.mark.thorough
def test_the_peak_is_that_of_the_pass_whatever_it_gives_back():
    """Run in a new process, as first passes do: a heap with holes takes large tensors in, and keeps them."""
    command = [sys.executable, "-c", PASS_OF_KNOWN_SIZE]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result, held, peak = map(float, output.split())
    assert (result, held) == (1, 64 * MEBIBYTE)
    assert peak / MEBIBYTE == pytest.approx(56, abs=1)  # The kernel counts pages to within some dozens.


def test_a_larger_peak_of_the_past_does_not_count():
    torch.ones(64 * MEBIBYTE, dtype=torch.uint8)
    assert losses.with_peak(lambda: 1.0, "cpu")[1] < 2 * MEBIBYTE


def test_a_first_pass_runs_in_a_new_process_and_knows_the_memory_of_the_matrix():
    n = 2048
    published = losses.first_pass("mmnp published", 128, SETTING)
    products = losses.first_pass(PRODUCTS, n, SETTING)
    assert published.n == 128
    assert published.seconds > 0
    assert published.peak_bytes > 128**3 * 4  # Autograd keeps the hinges.
    expected = n**2 * 4 / MEBIBYTE
    assert products.peak_bytes / MEBIBYTE == pytest.approx(expected, rel=0.25)  # Libraries take some MiB more.


def test_memory_that_a_warm_up_hides_is_not_known():
    assert losses.measured_pass(PRODUCTS, losses.WARM_UP, SETTING).peak_bytes is None


def test_without_proc_memory_is_not_known(monkeypatch):
    def refuse(path, *_):
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(Path, "read_text", refuse)
    assert losses.with_peak(lambda: 1.0, "cpu") == (1.0, None)
    assert losses.available_memory("cpu") == float("inf")


def test_the_message_of_a_contender_that_fails_is_returned(monkeypatch):
    def fail(embeddings, labels):
        raise RuntimeError("no kernel for this dtype\nand so on")

    stand_in(monkeypatch, fail)
    assert losses.measured_pass("x", 128, SETTING) == "no kernel for this dtype"


def test_a_process_that_is_killed_is_a_reason():
    assert losses.first_pass("supcr", 128, Setting(Killer(), torch.float32, "cpu")) == "its process was killed"


class Killer:
    """Ends the process that loads it."""

    def __reduce__(self):
        return exec, ("import os; os._exit(9)",)


def test_seconds_are_those_of_forward_and_backward_into_a_fresh_gradient():
    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            time.sleep(0.02)
            return x.sum()

        @staticmethod
        def backward(_, grad):
            time.sleep(0.03)
            return grad.expand(4, 2)

    embeddings = torch.zeros(4, 2, requires_grad=True)
    contender = Contender(lambda x, labels: Slow.apply(x), ranks=True)
    for _ in range(2):
        assert 0.05 <= losses.seconds_of(contender, embeddings, torch.zeros(4)) < 0.5
        assert embeddings.grad.eq(1).all()


def test_contenders_take_turns_after_a_warm_up_of_each(monkeypatch):
    turns = []
    for name in "ab":
        contender = Contender(lambda x, labels, name=name: turns.append(name) or x.sum(), ranks=True)
        monkeypatch.setitem(CONTENDERS, name, contender)
    taken = losses.rounds(["a", "b"], 16, SETTING, repeats=2)
    assert "".join(turns) == "ababab"
    assert [len(times) for times in taken.values()] == [2, 2]


# All sizes


@pytest.fixture
def sizes(monkeypatch):
    """The sizes that were run; a pass takes (n / 1024)^3 seconds and as many GiB, of 20 that are available."""
    sizes = []

    def first_pass(name, n, setting):
        sizes.append(n)
        return Pass(n, (n / 1024) ** 3, int((n / 1024) ** 3 * GIBIBYTE))

    monkeypatch.setattr(losses, "first_pass", first_pass)
    monkeypatch.setattr(losses, "available_memory", lambda device: 20.0 * GIBIBYTE)
    return sizes


@pytest.mark.parametrize(
    ("measured", "cubic", "expected"),
    [
        ([(128, 1.0)], False, 4.0),
        ([(128, 1.0)], True, 8.0),
        ([(64, 0.0), (128, 1.0)], True, 8.0),
        ([(64, 0.9), (128, 1.0)], True, 4.0),  # A cost that does not depend on n hides the growth.
        ([(64, 1.0), (128, 2**2.5)], True, 2**5.0),
        ([(64, 1.0), (128, 100.0)], True, 800.0),
        ([(64, 1.0), (128, 100.0)], False, 400.0),
    ],
)
def test_growth_goes_on_between_the_square_and_the_cube(measured, cubic, expected):
    assert losses.predict(measured, 256, cubic=cubic) == pytest.approx(expected)


def test_a_measured_amount_is_expected_again():
    assert losses.predict([(64, 1.0), (128, 3.0)], 128, cubic=True) == 3.0


def test_a_climb_doubles_up_to_the_size_that_is_wanted(sizes):
    contender = Climb(QUADRATIC, SETTING)
    assert contender.reach(300)
    assert contender.reach(512)
    assert sizes == [128, 256, 300, 512]


def test_the_first_size_may_be_small(sizes):
    assert Climb(QUADRATIC, SETTING).reach(16)
    assert sizes == [16]


def test_a_cubic_contender_stops_before_it_takes_too_much_memory(sizes):
    contender = Climb(CUBIC, SETTING, largest=6 * 2**30)
    assert contender.reach(1024)
    assert not contender.reach(2048)
    assert contender.stopped == "n = 2048: a pass takes about 8.0 GiB, more than 6.0 GiB"
    assert not contender.reach(4096)
    assert sizes == [128, 256, 512, 1024]


def test_a_cubic_contender_stops_before_it_takes_too_long(sizes):
    contender = Climb(CUBIC, SETTING, largest=float("inf"))
    assert not contender.reach(4096)
    assert contender.stopped == "n = 4096: a pass takes about 64 s, more than 20 s"
    assert sizes[-1] == 2048


def test_the_first_pass_of_a_process_is_corrected_by_those_of_a_warm_one(sizes):
    contender = Climb(CUBIC, SETTING, largest=float("inf"))
    assert contender.reach(2048)
    assert contender.obstacle(4096) == "a pass takes about 64 s, more than 20 s"
    contender.settle(2.0)
    assert contender.seconds(2048) == 2.0
    assert contender.obstacle(4096) == "a pass takes about 64.0 GiB, more than 18.0 GiB"


def test_other_contenders_stop_where_the_memory_of_the_machine_does(sizes):
    contender = Climb(QUADRATIC, SETTING)
    assert not contender.reach(8192)
    assert contender.stopped == "n = 4096: a pass takes about 32.0 GiB, more than 18.0 GiB"
    assert contender.seconds(4096) > contender.longest


def test_a_contender_whose_memory_is_not_known_is_held_by_time_alone(sizes, monkeypatch):
    monkeypatch.setattr(losses, "first_pass", lambda name, n, setting: Pass(n, (n / 1024) ** 3, None))
    contender = Climb(CUBIC, SETTING)
    assert contender.reach(2048)
    assert not contender.reach(4096)


def test_a_contender_that_fails_does_not_run_again(monkeypatch):
    monkeypatch.setattr(losses, "first_pass", lambda name, n, setting: "its process was killed")
    contender = Climb(QUADRATIC, SETTING)
    assert not contender.reach(256)
    assert contender.stopped == "n = 128: its process was killed"
    monkeypatch.setattr(losses, "first_pass", None)
    assert not contender.reach(512)


# Results


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


def test_ratios_are_those_of_the_medians_and_peaks():
    seconds = {"mmnp": 2.0, "mmnp published": 30.0, SUPCON: 4.0, TRIPLET: 16.0, PRODUCTS: 0.5}
    peaks = {"mmnp": 2**20, "mmnp published": 3 * 2**20, SUPCON: 1, TRIPLET: 1, PRODUCTS: 1}
    runs = [
        {"contender": name, "n": 16, "median_seconds": seconds[name], "peak_bytes": peaks[name]} for name in seconds
    ]
    assert losses.figures_of("mmnp", runs) == [
        {
            "n": 16, "milliseconds": 2000, "mebibytes": 1, "published_time": 15, "published_memory": 3,
            "to_supcon": 0.5, "to_triplet": 0.125, "to_products": 4,
        }
    ]  # fmt: skip


def test_a_stopped_baseline_leaves_gaps_and_a_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(losses, "available_memory", lambda device: 20 * 2**30)
    monkeypatch.setattr(losses, "first_pass", lambda name, n, setting: Pass(n, 1e-3, n * 2**26 * 3 // 2))
    results = run_script(monkeypatch, tmp_path, "--sizes", "16", "32")
    why = "n = 32: a pass takes about 12.0 GiB, more than 8.0 GiB"
    assert results["stopped"] == {"mmnp published": why, TRIPLET: why}
    out = capsys.readouterr().out
    assert f"mmnp published stops before {why}\n" in out
    first, second = results["figures"]["mmnp"]
    assert first["published_time"] > 0
    assert (second["published_time"], second["to_triplet"]) == (None, None)
    assert second["to_supcon"] > 0
    (row,) = [line.split() for line in out.splitlines() if line.startswith("32 ")]
    assert row[3:5] == ["-", "-"]
