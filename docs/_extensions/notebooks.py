"""Notebooks of the examples: a button on every page, and four notebooks that are executed, with their outputs."""

import ast
import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

NAMES = {
    "tutorials/plot_1_knee_xrays": "first_tutorial",
    "gallery/plot_01_table_with_grades": "table",
    "gallery/plot_07_images_from_a_folder": "images",
    "gallery/plot_11_plain_pytorch": "losses",
}
EXAMPLE = re.compile(r"generated/\w+/(plot_\w+)")
TITLE = re.compile(r"^\S.*\n={3,}\n", re.MULTILINE)
BUTTONS = """
.. container:: example-downloads

   :download:`Open as notebook <{name}.ipynb>` :download:`Download script <{name}.py>`

"""


def register(app):
    """Put buttons on the pages of a Sphinx application, and write the executed notebooks once the pages are built."""
    app.connect("source-read", add_buttons)
    app.connect("build-finished", write_notebooks)


def add_buttons(app, docname, source):
    """Put buttons that download the notebook and the script below the title of an example's page."""
    example = EXAMPLE.fullmatch(docname)
    if example:
        buttons = BUTTONS.format(name=example[1])
        source[0] = TITLE.sub(lambda title: title[0] + buttons, source[0], count=1)


def write_notebooks(app, error):
    """Run the cells of each notebook in a process of its own; one that fails fails the build."""
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir) / "notebooks"
    out.mkdir(exist_ok=True)
    for name, short in NAMES.items():
        source = Path(app.srcdir) / "generated" / f"{name}.ipynb"
        script = [sys.executable, "-P", __file__, source, out / f"{short}.ipynb"]
        subprocess.run(script, check=True, env={**os.environ, "MPLBACKEND": "Agg"})


def main(source, target):
    """Read a notebook, run its cells, and write it with their outputs."""
    notebook = json.loads(Path(source).read_text(encoding="utf-8"))
    namespace = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, start=1):
        cell["execution_count"] = number
        cell["outputs"] = run("".join(cell["source"]), namespace, number)
    Path(target).write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")


def run(code, namespace, number):
    """Run the code of a cell; return what it prints, draws, and the value of its last expression, as outputs."""
    import matplotlib.pyplot as plt

    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    figures = [plt.figure(figure) for figure in plt.get_fignums()]
    for figure in figures:
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", bbox_inches="tight")
        data = {"image/png": base64.b64encode(drawn.getvalue()).decode(), "text/plain": repr(figure)}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
        plt.close(figure)
    if value is not None and not type(value).__module__.startswith("matplotlib"):
        data = {"text/plain": repr(value)}
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}
        outputs.append(result)
    return outputs


if __name__ == "__main__":
    main(*sys.argv[1:])
