"""The kernels against the PyTorch rows that they stand for: on a GPU, or without one in Triton's interpreter."""

import subprocess
import sys
from contextlib import contextmanager

import pytest
import torch

from ordinate import kernels
from ordinate.functional import angular_triangle, mmnp, supcr, supremix
from tests.functional import brute_force, every_loss
from tests.functional.every_loss import for_every_loss

triton_rows = pytest.importorskip("ordinate.kernels.triton", reason="triton is not installed")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
CHUNK, TILE = 16, 8
N = 19  # more than a chunk, and no multiple of it

TIES = torch.tensor([3, 0, 1, 1, 4, 2, 0, 3, 3, 4, 1, 0, 4, 2, 2, 1, 4, 0, 3])
DISTINCT = brute_force.embeddings(N, 1, seed=5).detach()[:, 0].float()
MIRRORED = torch.arange(N) * 0.5  # to both sides of an anchor, references as far away
CLUMPED = torch.where(torch.arange(N) < 3, DISTINCT * 1e3, DISTINCT * 1e-3)  # most in one cell of the search table
MISSING = torch.where(TIES == 2, 3, TIES)
LONELY = torch.where(TIES == 2, 3, TIES).index_fill(0, torch.tensor(4), 2)  # a rank of one sample
ENDS = torch.where(TIES < 2, 0, 4)
MARGINS = torch.tensor([0.3, 0.6, 0.5, 0.9])
NEG_MIX = torch.rand(N, N, generator=torch.Generator().manual_seed(1))
REFERENCES = 17


def mixed(embeddings, labels, **options):
    neg_mix = NEG_MIX[: len(embeddings), : len(options.get("ref_emb", embeddings))].to(embeddings.device)
    options = {"temperature": 0.3, "window": 1.2, "neg_mix": neg_mix} | options
    return supremix(embeddings, labels, **options)


def with_margins(embeddings, labels, **options):
    return mmnp(embeddings, labels, MARGINS.to(embeddings), **options)


def triangle(embeddings, labels, **options):
    return angular_triangle(embeddings, labels, 5, **options)


CASES = {
    "supcr, ties": (supcr, TIES, {}),
    "supcr, distinct labels": (supcr, DISTINCT, {"temperature": 0.5}),
    "supcr, mirror images": (supcr, MIRRORED, {}),
    "supcr, clumps": (supcr, CLUMPED, {"similarity": "cosine"}),
    "supcr, one label": (supcr, torch.zeros(N), {}),
    "mmnp": (with_margins, TIES, {}),
    "mmnp, a rank missing": (with_margins, MISSING, {"reduction": "sum"}),
    "mmnp, a rank of one": (with_margins, LONELY, {}),
    "mmnp, two ranks": (with_margins, ENDS, {}),
    "otd": (triangle, TIES, {}),
    "otd, a rank missing": (triangle, MISSING, {"reduction": "sum"}),
    "otd, two ranks": (triangle, ENDS, {}),
    "supremix, ties": (mixed, TIES, {}),
    "supremix, distinct labels": (mixed, DISTINCT, {}),
    "supremix, shares drawn": (mixed, TIES, {"neg_mix": None}),
    "supremix, mixtures as they are": (mixed, DISTINCT, {"renormalize": False}),
    "supremix, mixtures detached": (mixed, DISTINCT, {"detach_mixtures": True}),
    "supremix, both": (mixed, TIES, {"renormalize": False, "detach_mixtures": True}),
    "supremix, weights alike": (mixed, DISTINCT, {"distance_magnifying": False}),
    "supremix, no Mix-neg": (mixed, DISTINCT, {"mix_negatives": False}),
    "supremix, no Mix-pos": (mixed, TIES, {"mix_positives": False}),
    "supremix, cold": (mixed, TIES, {"temperature": 1 / 40}),
}
TYPICAL = ["supcr, ties", "supcr, distinct labels", "mmnp", "otd", "supremix, ties", "supremix, distinct labels"]
for_every_case = pytest.mark.parametrize(("loss", "labels", "options"), CASES.values(), ids=CASES)
for_typical_cases = pytest.mark.parametrize(
    ("loss", "labels", "options"), [CASES[name] for name in TYPICAL], ids=TYPICAL
)


@contextmanager
def rows_in(*, triton):
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "uses_triton", lambda block: asked.append(block.shape) or triton)
        patch.setattr(triton_rows, "CHUNK", CHUNK)
        patch.setattr(triton_rows, "TILE", TILE)
        patch.setattr(kernels, "NUMBA", False)
        yield
    assert asked, "these rows have no kernels"


@pytest.fixture
def in_kernels():
    with rows_in(triton=True):
        yield


def assert_alike(loss, z, labels, *, tolerance=None, **options):
    """Hold value and gradients in kernels to those in PyTorch."""
    tolerance = TOLERANCE[z.dtype] if tolerance is None else tolerance
    outcomes, leaves = [], [z, options["ref_emb"]] if "ref_emb" in options else [z]
    for triton in (True, False):
        with rows_in(triton=triton):
            torch.manual_seed(0)
            value = loss(z, labels.to(z.device), **options)
            direction = torch.linspace(1, 2, value.numel(), device=value.device).reshape(value.shape)
            outcomes.append([value.detach(), *torch.autograd.grad((value * direction).sum(), leaves)])
    for ours, theirs in zip(*outcomes, strict=True):
        assert torch.isfinite(ours).all()
        assert (ours - theirs).norm() <= tolerance * theirs.norm()


def embeddings(n, dtype=torch.float64, seed=0):
    return brute_force.embeddings(n, seed=seed).detach().to(DEVICE, dtype).requires_grad_()


# against the rows in PyTorch


@pytest.mark.typical("otd, a rank missing", "supremix, both")
@for_every_case
def test_kernels_are_the_rows_of_a_batch(loss, labels, options):
    weights = torch.linspace(0, 2, N, device=DEVICE)
    assert_alike(loss, embeddings(N), labels, weights=weights, block_size=9, **options)


@pytest.mark.typical("mmnp")
@for_typical_cases
def test_kernels_are_the_rows_in_float32(loss, labels, options):
    assert_alike(loss, embeddings(N, torch.float32), labels, **options)


@pytest.mark.typical("supcr, ties")
@for_typical_cases
def test_kernels_are_the_rows_of_anchors_among_references(loss, labels, options):
    references = {"ref_emb": embeddings(REFERENCES, seed=1), "ref_labels": labels[:REFERENCES].to(DEVICE)}
    assert_alike(loss, embeddings(N), labels, **options | references | {"reduction": "none"})


@pytest.mark.typical("33-32-mmnp", "33-32-angular_triangle")
@for_every_loss
@pytest.mark.parametrize(("n", "block_size"), [(5, 1), (16, None), (33, 32)])
def test_kernels_take_rows_of_every_length(loss, n, block_size):
    options = {"neg_mix": None} if loss is every_loss.supremix else {}
    assert_alike(loss, embeddings(n), torch.arange(n) % 2 * 4, block_size=block_size, **options)


def test_equal_and_opposite_directions_have_exact_angles():
    z = embeddings(N).detach()
    z[3:6], z[6:9], z[9:12], z[12:15] = z[1], -z[1], z[1] + 1e-6, -z[1] + 1e-5
    z[15] = 0
    for labels in (TIES, ENDS):
        # the direction between vectors 1e-6 apart has ten digits: rounding of 2e-16 over the distance
        assert_alike(triangle, z.requires_grad_(), labels, tolerance=1e-9)


def test_a_mixture_without_direction_passes_nothing():
    z = embeddings(N).detach()
    z[3:6], z[6:9] = z[1], -z[1]
    half = {"neg_mix": torch.full((N, N), 0.5, device=DEVICE)}
    assert_alike(mixed, z.requires_grad_(), torch.arange(N) % 3, **half)


@pytest.mark.parametrize("size", [pytest.param(100.0, marks=pytest.mark.thorough), 1e4])
def test_exponents_too_wide_for_a_kernel_are_left_to_what_holds_them(size):
    z = (embeddings(N, torch.float32) * size).detach().requires_grad_()
    assert_alike(supcr, z, TIES)


# against brute force


@pytest.mark.parametrize("labels", [TIES[:12], DISTINCT[:12]], ids=["ties", "distinct"])
def test_kernels_are_supcr(in_kernels, labels):
    brute_force.assert_agrees(supcr, brute_force.embeddings(12), labels, device=DEVICE)


def test_kernels_are_mmnp_down_to_the_margins(in_kernels):
    margins = MARGINS.double().requires_grad_()
    brute_force.assert_agrees(mmnp, brute_force.embeddings(12), TIES[:12], margins, device=DEVICE)


@pytest.mark.parametrize("options", [{}, {"renormalize": False}, {"detach_mixtures": True}], ids=str)
def test_kernels_are_supremix(in_kernels, options):
    options = {"temperature": 0.5, "window": 2.0, "neg_mix": NEG_MIX[:12, :12].double()} | options
    brute_force.assert_agrees(supremix, brute_force.embeddings(12), TIES[:12].double(), device=DEVICE, **options)


def test_kernels_are_the_angular_triangle(in_kernels):
    brute_force.assert_agrees(angular_triangle, brute_force.embeddings(12), TIES[:12], 5, device=DEVICE)


# around them


@pytest.mark.thorough
@pytest.mark.typical("supcr", "supremix")
@for_every_loss
def test_a_compiled_model_trains_through_kernels(in_kernels, loss):
    z, labels = embeddings(5, torch.float32), torch.tensor([0, 4, 0, 4, 0], device=DEVICE)
    gradients = []
    for step in (loss, torch.compile(loss, backend="eager")):
        gradients += torch.autograd.grad(step(z * 2, labels), z)
    torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-7)


@pytest.mark.skipif(DEVICE == "cpu", reason="programs run one after the other in the interpreter")
@for_every_loss
def test_the_same_input_gives_the_same_bits(loss):
    z = torch.randn(3000, 16, device=DEVICE, requires_grad=True)
    first, second = (torch.autograd.grad(loss(z, torch.arange(3000, device=DEVICE) % 5), z)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_a_processor_takes_no_kernels():
    assert not kernels.uses_triton(torch.zeros(3, 3))


@pytest.mark.parametrize("capability", [(6, 1), (8, 0)])
def test_kernels_are_left_alone_where_they_cannot_be_built(monkeypatch, capability):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    builds = kernels._triton_builds.__wrapped__
    monkeypatch.setitem(sys.modules, "ordinate.kernels.triton", None)
    if capability < (7, 0):
        assert not builds(torch.device("cuda"))
        return
    with pytest.warns(RuntimeWarning, match="Triton builds no kernel for cuda"):
        assert not builds(torch.device("cuda"))


COMPILE_ALL = """
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction
from ordinate import kernels
from ordinate.functional import angular_triangle, mmnp, supcr, supremix

class NoGPU:
    get_current_device = get_current_stream = lambda self, device=None: 0
    get_current_target = lambda self: GPUTarget("cuda", 80, 32)

triton.runtime.driver.set_active(NoGPU())
torch.use_deterministic_algorithms(True)  # fills what no kernel writes with NaN, which passes every check of a range
kernels.NUMBA, kernels.uses_triton = False, lambda block: True
run, compiled = JITFunction.run, set()

def compile_only(kernel, *args, grid, warmup, **options):
    assert "cubin" in run(kernel, *args, grid=grid, warmup=True, **options).asm
    compiled.add(kernel.__name__)

JITFunction.run = compile_only
for dtype in (torch.float32, torch.float64):
    z = torch.randn(64, 4, dtype=dtype, requires_grad=True)
    line, ranks, options = torch.randn(64), torch.arange(64) % 4, {"temperature": 0.3, "window": 0.1}
    supcr(z, ranks).backward()
    mmnp(z, ranks, torch.ones(3)).backward()
    supremix(z, line, **options).backward()
supcr(z, line).backward()
angular_triangle(z, ranks, 4).backward()
supremix(z, line, **options, renormalize=False, detach_mixtures=True, distance_magnifying=False).backward()
print(*sorted(compiled))
"""


@pytest.mark.thorough
def test_every_kernel_compiles_for_a_gpu_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", COMPILE_ALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kernels = "_gradient _inwards _mix_pos_forces _mix_pos_norms _mix_pos_sums _negatives _outwards _positives _pulls"
    assert done.stdout.split() == [*kernels.split(), "_sums", "_terms"]
