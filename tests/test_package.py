"""What importing costs, what is public, and that no modules import each other in a circle."""

import ast
import inspect
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import ordinate

SOURCES = Path(ordinate.__file__).parents[1]

# what Windows lacks, taken away once the packages that ordinate stands on have been imported
WITHOUT_POSIX = """
import multiprocessing.context, os, pkgutil, signal, sys
from importlib import import_module

import lightning.pytorch, pandas, scipy.stats, sklearn, torch

for module in ("fcntl", "grp", "posix", "pwd", "resource", "termios"):
    sys.modules[module] = None
for owner, names in (
    (os, ("fork", "getuid", "posix_fallocate", "register_at_fork", "sched_getaffinity", "sysconf")),
    (signal, ("SIGHUP", "SIGKILL", "SIGUSR1")),
    (multiprocessing.context._concrete_contexts, ("fork", "forkserver")),
):
    for name in names:
        owner.pop(name, None) if isinstance(owner, dict) else delattr(owner, name)
multiprocessing.get_all_start_methods = lambda: ["spawn"]

import ordinate

failed = []
for module in pkgutil.walk_packages(ordinate.__path__, "ordinate."):
    try:
        import_module(module.name)
    except Exception as error:
        failed.append(f"{module.name}: {error!r}")
print(*failed, sep="\\n", end="")
"""
DEFAULTS = {
    "supcr": {"temperature": 2.0, "similarity": "neg_l2", "label_distance": "l1", "num_positives": None},
    "supremix": {"temperature": 0.2, "beta": (2.0, 8.0), "neg_mix": None, "mix_negatives": True, "mix_positives": True},
    "angular_triangle": {"triplets": None},
    "mmnp": {},
}


def loaded_by(*codes):
    """Packages that a new interpreter has loaded after each code and not before all, without the standard library."""
    told = "\nprint(*set(sys.modules) - before)\n"
    script = f"import sys; before = set(sys.modules)\n{told.join(codes)}{told}"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    return [{name.split(".")[0] for name in line.split()} - sys.stdlib_module_names for line in lines]


# what importing costs


def test_importing_ordinate_loads_nothing_but_itself():
    assert loaded_by("import ordinate") == [{"ordinate"}]


def test_help_loads_nothing_but_ordinate():
    loaded = loaded_by("from ordinate.cli import build_parser; build_parser().format_help()")
    assert loaded == [{"ordinate", "ordinate_papers"}]


REFUSED = {
    "fit --target y": "data: is missing, expected DATA, or a --config that names it",
    "fit nowhere.csv --target y": "nowhere.csv: no such file",
    "fit table.csv --target grades": "table.csv: no column 'grades'; did you mean 'grade'?",
    "fit table.csv --target grade --method clok": "--method: got 'clok'; did you mean 'cloc'?",
    "fit table.csv --target grade --epochs 0": "--epochs: got 0, expected a whole number of at least 1",
    "fit table.csv --target grade --recipe cloc-ko": "--recipe: got 'cloc-ko'",
    "fit table.csv --target grade --encoder hf:./nowhere": "--encoder: got 'hf:./nowhere', expected a folder",
    "fit table.csv --target grade --out full": "--out: full already holds something",
    "predict full table.csv": "model: full holds no config.json",
    "report full table.csv": "model: full holds no config.json",
    "report model nowhere.csv": "nowhere.csv: no such file",
    "evaluate model full table.csv": "model: full holds no config.json",
    "suspects nowhere.csv --target grade": "nowhere.csv: no such file",
    "search model nowhere.csv --among table.csv": "nowhere.csv: no such file",
    "export full": "model: full holds no config.json",
    "table --jobs 2": "--jobs: got no table to run",
    "table nope": "table: got 'nope', expected one of cloc-1",
    "table supcr-1 --dataset airfol": "--dataset: got 'airfol'; did you mean 'airfoil'?",
    "datasets airfol": "data set: got 'airfol'; did you mean 'airfoil'?",
}


def test_what_a_command_refuses_it_refuses_before_anything_heavy_is_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("a,grade\n" + "1,2\n2,3\n" * 10)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    code = [
        "import io\nfrom contextlib import redirect_stderr\nfrom ordinate.cli import main",
        f"for command, message in {REFUSED!r}.items():",
        "    with redirect_stderr(io.StringIO()) as said: assert main(command.split()) == 2, command",
        "    assert said.getvalue().startswith('ordinate: ' + message), said.getvalue()",
    ]
    assert loaded_by("\n".join(code)) == [{"ordinate", "ordinate_papers"}]


BLEND = """
import tempfile

import numpy as np

import ordinate
import ordinate.commands.predict

X = np.linspace(0, 1, 40)[:, None]
model = ordinate.BlendClassifier(members=2, folds=2, epochs=2).fit(X, np.arange(40) // 20)
with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/model")
    ordinate.load(f"{folder}/model").predict(X)
assert "torch._dynamo" not in sys.modules  # It takes two seconds.
"""


def test_losses_do_not_load_triton_nor_an_estimator_and_the_list_of_tables_lightning_or_what_draws():
    losses, estimator, blend, cloc, tables = loaded_by(
        "import ordinate.losses, ordinate.functional",
        "from ordinate import CLOCClassifier, SupCRRegressor, load",
        BLEND,
        BLEND.replace("BlendClassifier(members=2, folds=2, epochs=2)", "CLOCClassifier(epochs=(1, 1))"),
        "import ordinate_papers.commands.table, ordinate_papers.tables.catalogue",
    )
    assert "torch" in losses
    assert "triton" not in losses
    assert "sklearn" in estimator
    assert estimator.isdisjoint({"lightning", "torchmetrics", "matplotlib", "torchvision", "timm", "transformers"})
    assert (blend | cloc).isdisjoint({"lightning"})  # Importing it takes longer than many a fit of a table.
    assert tables.isdisjoint({"lightning", "torchvision"})


LOSSES_ALONE = """
import sys
from importlib.machinery import PathFinder

OF_TORCH = {"torch", "torchgen", "functorch", "typing_extensions", "sympy", "mpmath", "networkx", "filelock", "jinja2",
            "markupsafe", "fsspec"}
THERE = {"ordinate", "numpy", "jaxtyping", "wadler_lindig"} | OF_TORCH | set(sys.stdlib_module_names)

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return super().find_spec(name, path, target) if name.partition(".")[0] in THERE else None

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
import torch
from ordinate.losses import AngularTriangleLoss, MMNPLoss, SupCRLoss, SupReMixLoss

try:
    import sklearn
except ModuleNotFoundError:
    pass
else:
    raise AssertionError("not hidden")
labels = torch.arange(12) % 3
for loss in (SupCRLoss(), SupReMixLoss(temperature=0.5, window=1.0), MMNPLoss(3), AngularTriangleLoss(3)):
    embeddings = torch.randn(12, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    value = loss(embeddings, labels)
    value.backward()
    assert value > 0 and embeddings.grad.abs().sum() > 0, loss
"""


def test_the_losses_train_with_torch_numpy_and_jaxtyping_alone():
    run = subprocess.run([sys.executable, "-c", LOSSES_ALONE], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="takes away what Linux has")
def test_every_module_can_be_imported_where_there_is_no_posix():
    run = subprocess.run([sys.executable, "-c", WITHOUT_POSIX], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""


# what is public


@pytest.mark.parametrize(("formula", "defaults"), DEFAULTS.items(), ids=DEFAULTS)
def test_formulas_take_their_papers_options_by_name_and_by_default(formula, defaults):
    parameters = inspect.signature(getattr(ordinate.functional, formula)).parameters
    shared = {"ref_emb": None, "ref_labels": None, "weights": None}
    for name, default in (defaults | shared).items():
        assert parameters[name].default == default
        assert parameters[name].kind == inspect.Parameter.KEYWORD_ONLY
    assert list(parameters)[:2] == ["embeddings", "labels"]
    assert "reduction" in parameters


# imports, whose layers import-linter checks


def module_at(path):
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


def imported_by(path, modules):
    """The modules that one imports anywhere in it, other than for type checkers alone."""
    nodes = [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else node.module for name in names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes += node.orelse
        else:
            nodes += ast.iter_child_nodes(node)


def test_no_modules_import_each_other_in_a_circle():
    paths = [*SOURCES.glob("ordinate/**/*.py"), *SOURCES.glob("ordinate_papers/**/*.py")]
    modules = {module_at(path): path for path in paths}
    imports = {module: modules.keys() & imported_by(path, modules) for module, path in modules.items()}
    known = {f"ordinate.data.{name}" for name in ("labels_file", "modality", "options", "paths", "saved_fields")} | {
        "ordinate.errors"
    }
    assert imports["ordinate.data.registry"] == known
    TopologicalSorter(imports).prepare()  # It raises an error that names a circle.


CORE_ALONE = """
import sys
from types import ModuleType
import importlib.util
import ordinate.extensions

ordinate.extensions.extensions = tuple
absent = ("ordinate_papers", "matplotlib", "pyarrow", "skordinal", "torchvision", "timm", "transformers",
          "monai", "nibabel", "mne", "lightning", "bokeh")

def is_absent(name):
    return f"{name}.".startswith(tuple(f"{module}." for module in absent))

class Finder:
    def find_spec(name, path=None, target=None):
        if is_absent(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in filter(is_absent, list(sys.modules)):  # no None in their place, which scikit-learn takes for a module
    del sys.modules[name]
sys.meta_path.insert(0, Finder)
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if is_absent(name) else find_spec(name, package)
import ordinate
import numpy as np, pandas as pd
from ordinate.cli import main

random = np.random.default_rng(0)
frame = pd.DataFrame({"a": random.normal(size=40), "b": random.normal(size=40)})
frame["grade"] = (frame["a"] > 0).astype(int) + (frame["a"] > 1)
frame.to_csv("table.csv", index=False)
assert main(["fit", "table.csv", "--target", "grade", "--epochs", "1", "--out", "m"]) == 0
assert main(["predict", "m", "table.csv", "--out", "p.csv"]) == 0
assert main(["report", "m", "table.csv", "--out", "r.html"]) == 2
assert main(["fit", "table.csv", "--target", "grade", "--method", "cloc", "--epochs", "1", "--out", "c"]) == 0
assert main(["fit", "table.csv", "--target", "grade", "--method", "poe"]) == 2
assert main(["predict", "m", "table.csv", "--out", "p.parquet"]) == 2
"""


def test_the_core_works_without_the_papers_and_without_extras(tmp_path):
    run = subprocess.run([sys.executable, "-c", CORE_ALONE], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "could not be written: report.html: requires bokeh" in run.stdout
    for extra in ("parquet", "report"):
        assert f'pip install "ordinate[{extra}]"' in run.stderr
    assert max(path.name for path in (tmp_path / "m").iterdir()) == "weights.safetensors"
