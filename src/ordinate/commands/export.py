"""``ordinate export``: a saved model as one graph for other runtimes."""

from pathlib import Path

from ordinate.commands.catalogue import SUFFIXES
from ordinate.estimators.loading import load
from ordinate.model.export import export_model


def export(model: str, file_format: str, out: str | None) -> None:
    """Write the graph and its description, and print what goes in, what comes out and how well it agrees."""
    path = Path(out or f"{Path(model).resolve().name}{SUFFIXES[file_format]}")
    exported = export_model(load(model).fitted, path)
    print(f"graph: {exported.path}")
    print(f"  input samples {_shape(exported.input_shape)}")
    for name, shape in exported.outputs.items():
        how = "as the model decides"
        if name in exported.differences:
            how = f"at most {exported.differences[name]:.1e} from the model"
        print(f"  output {name} {_shape(shape)}, {how} on check samples")
    print(f"how a row becomes the input, and what the outputs mean: {exported.description}")


def _shape(sample: tuple[int, ...]) -> str:
    return str(("n", *sample)).replace("'", "")
