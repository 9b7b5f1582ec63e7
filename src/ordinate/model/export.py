"""Fitted models as files that other runtimes read: ONNX, or a program of torch.export."""

import copy
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Num
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.counts import counted
from ordinate.data.new_files import new_folder
from ordinate.data.registry import modalities, modality_of_reader
from ordinate.decisions.costs import TIE as TIE_OF_PROBABILITIES
from ordinate.errors import OrdinateError
from ordinate.heads.neighbours import NeighbourMean, NeighbourVote
from ordinate.model.labels import TargetLabels
from ordinate.model.model import Model
from ordinate.option_group import Settings
from ordinate.optional import optional
from ordinate.version import __version__

ONNX, TORCH = ".onnx", ".pt2"
INPUT = "samples"


class InferenceGraph(nn.Module):
    """From a batch as the reader gives it to embeddings and predictions.

    Args:
        model: Fitted model.

    The forward pass takes float32 features (n, f) or series (n, c, t), or uint8 images (n, c, h, w), and returns
    float64: ``"embedding"`` (n, d), and ``"probability"`` (n, C) of a classifier, by rank, or ``"prediction"`` (n,) or
    (n, p) of a regressor, in units of the labels; of a classifier also ``"rank"`` (n,), int64, which it predicts.

    Example:
        >>> import numpy as np
        >>> from ordinate import SupCRRegressor
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = SupCRRegressor(epochs=(2, 2), random_state=0).fit(X, 10 * X[:, 0]).fitted
        >>> graph = InferenceGraph(model)
        >>> {name: tuple(value.shape) for name, value in graph(torch.zeros(5, *graph.sample_shape)).items()}
        {'embedding': (5, 64), 'prediction': (5,)}
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        reader = model.reader
        self.sample_shape, self.sample_dtype, self.dtype = reader.sample_shape, reader.input_dtype, reader.graph_dtype
        self.encoder = copy.deepcopy(model.encoder).to(self.dtype)
        self.head = _head(model)
        self.decision: _Decision | None = None
        self.predicts, self.outputs = "prediction", ["embedding", "prediction"]
        if model.rule is not None:
            self.decision = _Decision(model.rule)
            self.predicts, self.outputs = "probability", ["embedding", "probability", "rank"]

    def forward(self, samples: Num[Tensor, "n ..."]) -> dict[str, Tensor]:
        embedding = self.encoder(samples.to(self.dtype)).double()
        outputs = {"embedding": embedding, self.predicts: self.head(embedding)}
        if self.decision is not None:
            outputs["rank"] = self.decision(outputs["probability"])
        return outputs


def _head(model: Model) -> nn.Module:
    """Return the module from embeddings to probabilities or predictions."""
    predictor = copy.deepcopy(model.predictor)
    if isinstance(model.labels, TargetLabels):
        return _Shifted(predictor, torch.from_numpy(model.labels.offset), model.labels.is_vector)
    return predictor


class _Decision(nn.Module):
    """:func:`~ordinate.decisions.predict_ranks` as tensor operations."""

    costs: Tensor | None

    def __init__(self, rule: str | NDArray[np.float64]) -> None:
        super().__init__()
        self.is_median = isinstance(rule, str) and rule == "median"
        self.register_buffer("costs", None if isinstance(rule, str) else torch.from_numpy(rule))

    def forward(self, probabilities: Float[Tensor, "n c"]) -> Int[Tensor, " n"]:
        if self.is_median:
            return (probabilities.cumsum(1)[:, :-1] < 0.5 - TIE_OF_PROBABILITIES).long().sum(1)
        if self.costs is None:
            return (probabilities >= probabilities.amax(1, keepdim=True) - TIE_OF_PROBABILITIES).long().argmax(1)
        expected = probabilities @ self.costs
        bound = expected.amin(1, keepdim=True) + TIE_OF_PROBABILITIES * self.costs.max()
        return (expected <= bound).long().argmax(1)


class _Shifted(nn.Module):
    """Predictions of a head that was trained on centred targets."""

    offset: Tensor

    def __init__(self, head: nn.Module, offset: Float[Tensor, " p"], is_vector: bool) -> None:
        super().__init__()
        self.head = head
        self.is_vector = is_vector
        self.register_buffer("offset", offset)

    def forward(self, embeddings: Float[Tensor, "n d"]) -> Tensor:
        predicted = self.head(embeddings) + self.offset
        return predicted[:, 0] if self.is_vector else predicted


@dataclass(frozen=True)
class Exported:
    """What was written.

    Args:
        path: Path of the graph.
        description: JSON next to it: input, outputs, classes, and how a raw sample becomes the input.
        input_shape: Input shape of one sample.
        outputs: Shapes of the outputs without the batch, by name.
        differences: Largest differences from the model on the samples of the check, by the name of the output.

    Example:
        >>> exported = Exported(Path("m.onnx"), Path("m.onnx.json"), (3,), {"embedding": (64,)}, {"embedding": 2e-16})
        >>> max(exported.differences.values()) < 1e-9
        True
    """

    path: Path
    description: Path
    input_shape: tuple[int, ...]
    outputs: dict[str, tuple[int, ...]]
    differences: dict[str, float]


def export_model(model: Model, path: str | Path) -> Exported:
    """Write the inference of a fitted model as one graph, with a JSON next to it.

    The graph takes ``samples``, what the model's reader gives (float32 features or series, uint8 images or
    volumes), in batches of any size, and gives ``embedding`` and ``probability`` (classifiers, by rank) or
    ``prediction`` (regressors, in units of the labels), float64, and of a classifier the predicted ``rank``, int64: a
    place in ``classes`` of the JSON, which go from the lowest rank to the highest. It is checked against the model
    before it appears, on random samples, on samples of small whole numbers, and on embeddings of training samples where
    the model keeps some: embeddings to 1e-9 for tables and 1e-4 for series, images and volumes, whose convolutions are
    in float32, relative to the largest entry; at the same embedding probabilities and predictions to 1e-9. Ranks must
    be equal, for series, images and volumes at the same embedding. Equally near training samples count equally in the
    graph as in the model (:class:`~ordinate.heads.NeighbourVote`), so that ties make no difference.

    The caches of PyTorch's tracing keep about half a MB per call in the process.

    Args:
        model: Fitted model.
        path: New file: .onnx, which requires ``pip install "ordinate[export]"``, or .pt2, which ``torch.export.load``
            reads. The JSON has its name and .json.

    Raises:
        OrdinateError: a file that exists or cannot be written, a package that is missing, an encoder that cannot be
            exported, or a graph that disagrees with the model; nothing is left then.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = CLOCClassifier(epochs=(2, 2), random_state=0).fit(X, np.digitize(X[:, 0], [0.3, 0.7])).fitted
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     exported = export_model(model, f"{folder}/model.pt2")
        ...     program = torch.export.load(exported.path).module()
        >>> program(torch.zeros(4, *exported.input_shape))["probability"].shape
        torch.Size([4, 3])
    """
    if model.reader.export_note is None:
        exportable = [m.name for m in modalities() if any(reader.export_note for reader in m.readers)]
        name = modality_of_reader(model.reader).name
        raise OrdinateError("export", f"a model of {name}", f"one of {', '.join(exportable)}")
    path = Path(path)
    description = path.with_name(f"{path.name}.json")
    if path.suffix not in (ONNX, TORCH):
        raise OrdinateError("path", path, f"a name that ends in {ONNX} or {TORCH}")
    for file in (path, description):
        if file.exists():
            raise OrdinateError("path", problem=f"{file} exists", expected="a new file")
    if not path.parent.is_dir():
        raise OrdinateError("path", problem=f"{path} cannot be written: No such folder as {path.parent}")
    graph = InferenceGraph(model).eval()
    with new_folder(path, "path") as folder:
        pending = folder / path.name
        _write(graph, pending)
        differences, outputs = _check(model, graph, pending)
        record = _describe(model, graph, outputs, differences)
        pending_description = pending.with_name(description.name)
        pending_description.write_text(json.dumps(record, indent=1) + "\n")
        pending_description.replace(description)
        pending.replace(path)
    return Exported(path, description, graph.sample_shape, outputs, differences)


def _write(graph: InferenceGraph, path: Path) -> None:
    samples = _draw_samples(graph, 3, torch.Generator().manual_seed(0))
    if path.suffix == ONNX:
        for package in ("onnx", "onnxscript", "onnxruntime"):
            optional(package, "export", "path")
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The exporters issue warnings about their own code.
            if path.suffix == TORCH:
                shapes = {INPUT: {0: torch.export.Dim("n")}}
                torch.export.save(torch.export.export(graph, (samples,), dynamic_shapes=shapes), path)
                return
            program = torch.onnx.export(
                graph,
                (samples,),
                input_names=[INPUT],
                output_names=graph.outputs,
                dynamic_shapes={INPUT: {0: "n"}},
                custom_translation_table={torch.ops.aten.scalar_tensor.default: _exact_scalar},
                dynamo=True,
                optimize=False,  # It takes numbers up to 1e-8 for 0, and so drops the tolerances of ties.
                verbose=False,
            )
            assert program is not None  # noqa: S101  # No file was given to write to.
            # Functions of weights, such as thresholds, are computed once: ONNX Runtime lacks some of them in float64.
            optimizer = optional("onnxscript", "export", "path").optimizer
            optimizer.fold_constants(program.model)
            optimizer.remove_unused_nodes(program.model)
            program.save(path, external_data=False)
    except Exception as error:  # An encoder of timm can fail to export in as many ways as there are operations.
        reason = str(error).strip().splitlines() or [""]
        problem = f"cannot be exported as {path.suffix}: {type(error).__name__}: {reason[0]}"
        raise OrdinateError("encoder", problem=problem) from error


def _exact_scalar(s: Any, dtype: int = 1, **_: Any) -> Any:
    """Return a number as a constant of its dtype, which torch's own translation takes through float32."""
    from onnx.helper import make_tensor
    from onnxscript import opset18

    if not isinstance(s, int | float):
        return opset18.Cast(s, to=dtype)
    return opset18.Constant(value=make_tensor("", dtype, [], [s]))


Run = Callable[[Tensor], dict[str, Tensor]]


def _open_onnx(model: str | bytes) -> Run:
    """Return what runs a graph, of which the path or the content is given, on a batch."""
    onnxruntime = optional("onnxruntime", "export", "path")
    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as LacksOperation

    try:
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    except LacksOperation as error:
        problem = f"ONNX Runtime lacks an operation of the graph: {error}"
        raise OrdinateError("path", problem=problem, hint=f"a name that ends in {TORCH}") from error
    (given,) = (each.name for each in session.get_inputs())
    names = [output.name for output in session.get_outputs()]

    def run(batch: Tensor) -> dict[str, Tensor]:
        values = session.run(names, {given: batch.numpy()})
        return {name: torch.from_numpy(value) for name, value in zip(names, values, strict=True)}

    return run


def _open_head(path: Path, outputs: list[str]) -> Run:
    """Return what runs the part of a graph in a file from embeddings on."""
    onnx = optional("onnx", "export", "path")
    head = onnx.utils.Extractor(onnx.load(path)).extract_model(["embedding"], outputs)
    return _open_onnx(head.SerializeToString())


def _draw_samples(graph: InferenceGraph, n: int, generator: torch.Generator) -> Tensor:
    """Return random samples of the kind and shape that the model's reader gives."""
    shape = (n, *graph.sample_shape)
    if graph.sample_dtype == torch.uint8:
        return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    return torch.randn(shape, generator=generator)


def _draw_simple_samples(graph: InferenceGraph, generator: torch.Generator) -> Tensor:
    """Return samples of three small whole numbers, as of tables with few distinct rows; of tables 100."""
    n = 100 if len(graph.sample_shape) == 1 else 7
    drawn = torch.randint(0, 3, (n, *graph.sample_shape), generator=generator)
    if graph.sample_dtype != torch.uint8:
        drawn -= 1
    return drawn.to(graph.sample_dtype)


def _stored_embeddings(graph: InferenceGraph, most: int = 100) -> Tensor | None:
    """Return embeddings of training samples that the head keeps; None if it keeps none."""
    for module in graph.head.modules():
        if isinstance(module, NeighbourMean | NeighbourVote):
            return module.embeddings[:most].double()
    return None


@torch.no_grad()
def _check(model: Model, graph: InferenceGraph, path: Path) -> tuple[dict[str, float], dict[str, tuple[int, ...]]]:
    """Return the largest differences from the model, and the outputs' shapes, or raise where they disagree."""
    run: Run = _open_onnx(str(path)) if path.suffix == ONNX else torch.export.load(path).module()
    generator = torch.Generator().manual_seed(1)
    check = _Check(model, graph)
    batches = [_draw_simple_samples(graph, generator), *(_draw_samples(graph, n, generator) for n in (7, 1))]
    for samples in batches:
        found = run(samples)
        check.samples(samples, found)
    stored = _stored_embeddings(graph)
    if stored is not None and path.suffix == ONNX:  # A program of torch runs the model's own head.
        check.head(stored, _open_head(path, graph.outputs[1:])(stored))
    return check.differences, {name: tuple(found[name].shape[1:]) for name in graph.outputs}


class _Check:
    """Compares what a graph gives with the model, and raises an error where they disagree."""

    def __init__(self, model: Model, graph: InferenceGraph) -> None:
        self.model = model
        self.graph = graph
        self.differences = dict.fromkeys(("embedding", graph.predicts), 0.0)

    def samples(self, samples: Tensor, found: dict[str, Tensor]) -> None:
        """Compare the outputs of samples."""
        is_wide = self.graph.dtype == torch.float64
        # The CPU computes the reference, because a GPU may round convolutions. Images are bytes, as the model
        # reads them.
        if samples.dtype != torch.uint8:
            samples = samples.double()
        embedding = self.model.encoder(samples).double()
        _compare("embedding", found["embedding"], embedding, 1e-9 if is_wide else 1e-4)
        for name, expected in (("embedding", embedding), (self.graph.predicts, self._predict(embedding))):
            self.differences[name] = max(self.differences[name], float((found[name] - expected).abs().max()))
        self.head(found["embedding"], found)
        if is_wide:  # Rounding in float32 may move a sample across a boundary of the decision.
            self._compare_ranks(self._predict(embedding), found)

    def head(self, embeddings: Tensor, found: dict[str, Tensor]) -> None:
        """Compare the outputs of embeddings."""
        expected = self._predict(embeddings)
        self._compare_ranks(expected, found)
        _compare(self.graph.predicts, found[self.graph.predicts], expected, 1e-9)

    def _compare_ranks(self, probabilities: Tensor, found: dict[str, Tensor]) -> None:
        if not self.model.is_of_ranks:
            return
        differs = found["rank"] != torch.from_numpy(self.model.decide(probabilities.numpy()))
        if bool(differs.any()):
            problem = f"rank differs from the model's in {int(differs.sum()):,} of {counted(len(differs), 'sample')}"
            raise OrdinateError("export", problem=problem, hint="nothing was written")

    def _predict(self, embeddings: Tensor) -> Tensor:
        """Return the model's own predictions from embeddings."""
        return torch.from_numpy(self.model.predicted(embeddings))


def _compare(name: str, found: Tensor, expected: Tensor, tolerance: float) -> None:
    """Raise an error if an output differs by more than the tolerance, relative to the largest entry."""
    if found.shape != expected.shape:
        problem = f"{name} has shape {tuple(found.shape)}, the model's has {expected.shape}"
        raise OrdinateError("export", problem=problem)
    bound = tolerance * float(expected.abs().max())
    difference = (found - expected).abs()
    if not bool((difference <= bound).all()):
        problem = f"{name} differs by {float(difference.max()):.2g} from the model's"
        raise OrdinateError("export", problem=problem, expected=f"at most {bound:.2g}", hint="nothing was written")


def _describe(
    model: Model,
    graph: InferenceGraph,
    outputs: dict[str, tuple[int, ...]],
    differences: dict[str, float],
) -> Settings:
    """Return what a program needs to know to use the graph, ready for JSON."""
    reader = model.reader
    record: Settings = {
        "ordinate": __version__,
        "estimator": model.origin.estimator,
        "input": {
            "name": INPUT,
            "dtype": str(reader.input_dtype).removeprefix("torch."),
            "shape": ["n", *graph.sample_shape],
            "how": reader.export_note,
        },
        "outputs": [
            {"name": name, "dtype": "int64" if name == "rank" else "float64", "shape": ["n", *shape]}
            for name, shape in outputs.items()
        ],
        "largest_differences": differences,
        "reader": {"kind": reader.kind, **reader.to_dict()},
    }
    if model.is_of_ranks:
        record["classes"] = model.ranks.tolist()
    if reader.features is not None:
        record["features"] = reader.features
    return record
