"""Print figures of the size and simplicity of the code.

    python tools/simplicity.py [--files]

Counted are lines of code without docstrings, comments and blank lines, the signatures and ancestors of the main
estimators, the files and functions that a fit of CLOC enters, and the help of ``ordinate fit``.
"""

import argparse
import ast
import contextlib
import inspect
import io
import sys
import tempfile
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PARTS = {
    "core": "src/ordinate",
    "papers": "src/ordinate_papers",
    "tests": "tests",
    "benchmarks": "benchmarks",
}
ESTIMATORS = (
    "CLOCClassifier", "OTDClassifier", "SupCRRegressor", "SupReMixRegressor", "BlendClassifier", "BlendRegressor",
)  # fmt: skip
NOT_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
)  # fmt: skip


def docstrings(tree: ast.AST) -> set[int]:
    """Return the lines of all docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            lines |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def count(path: Path) -> Counter[str]:
    """Return the counts of one file."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    documented = docstrings(tree)
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in NOT_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    found = Counter({"code": len(code - documented), "docstring": len(documented)})
    for node in ast.walk(tree):
        found["conditional"] += isinstance(node, ast.IfExp)
        found["any"] += isinstance(node, ast.Name) and node.id == "Any"
    lines = source.splitlines()
    found["lines"], found["filled"] = len(lines), sum(bool(line.strip()) for line in lines)
    found["constant"] = sum(any(name.isupper() for name in assigned(node)) for node in tree.body)
    return found


def assigned(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement assigns."""
    if isinstance(node, ast.Assign):
        targets: list[ast.expr] = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    else:
        return
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(part, ast.Name):
                yield part.id


def lines_of_code(*, each_file: bool) -> None:
    """Print the lines of each part, and the densities of the library."""
    of_source: Counter[str] = Counter()
    for part, folder in PARTS.items():
        total: Counter[str] = Counter()
        for path in sorted((ROOT / folder).rglob("*.py")):
            found = count(path)
            total += found
            if each_file:
                print(f"{found['code']:6} {path.relative_to(ROOT)}")
        print(f"lines of code, {part}: {total['code']}")
        if folder.startswith("src"):
            of_source += total
    print(f"docstring lines per line of code in src: {of_source['docstring'] / of_source['code']:.2f}")
    for name, text, among in (
        ("conditional", "conditional expressions per 1,000 lines of code", "code"),
        ("constant", "module constants per 1,000 lines", "lines"),
        ("any", "Any per 1,000 lines that are not blank", "filled"),
    ):
        print(f"{text}: {1000 * of_source[name] / of_source[among]:.1f}")


def is_ours(kind: type[Any]) -> bool:
    """Return whether a class is one of the project."""
    return kind.__module__.partition(".")[0] in ("ordinate", "ordinate_papers")


def estimators() -> None:
    """Print parameters, ancestors and methods of the main estimators."""
    import ordinate

    for name in ESTIMATORS:
        kind = getattr(ordinate, name)
        ours = [each for each in kind.__mro__ if is_ours(each)]
        methods = [
            key
            for each in ours
            for key, value in vars(each).items()
            if inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)
            if key not in ("__init__", "__replace__")
        ]
        parameters = len(inspect.signature(kind).parameters)
        print(f"{name}: {parameters} parameters, {len(ours) - 1} project ancestors, {len(methods)} project methods")


def entered(run: Callable[[], object]) -> None:
    """Print how many files and functions of the project a call enters, and how many files for one or two of them."""
    found: set[tuple[str, str, int]] = set()

    def hook(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and "/src/ordinate" in code.co_filename:
            found.add((code.co_filename, code.co_qualname, code.co_firstlineno))

    sys.setprofile(hook)
    try:
        run()
    finally:
        sys.setprofile(None)
    of_file = Counter(file for file, _, _ in found)
    few = sum(count <= 2 for count in of_file.values())
    print(f"{len(of_file)} project files, {len(found)} project functions, {few} files for one or two of them")


def fits_of_cloc() -> None:
    """Print what a fit of CLOC enters, from Python and from the command line; the second, as the first imports."""
    import numpy as np
    import pandas as pd

    from ordinate import CLOCClassifier
    from ordinate.cli import main as command_line

    X = np.random.default_rng(0).normal(size=(120, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    estimator = CLOCClassifier(epochs=(1, 1), random_state=0)
    estimator.fit(X, y)
    print("CLOCClassifier.fit: ", end="")
    entered(lambda: estimator.fit(X, y))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pd.DataFrame(X, columns=list("abc")).assign(grade=y).to_csv("t.csv", index=False)
        shared = ["fit", "t.csv", "--target", "grade", "--method", "cloc", "--epochs", "2", "--no-report", "--quiet"]

        def fit(out: str) -> None:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                command_line([*shared, "--out", out])

        fit("first")
        print("ordinate fit t.csv --method cloc: ", end="")
        entered(lambda: fit("second"))


def fit_help() -> None:
    """Print how much ``ordinate fit --help`` shows."""
    from ordinate.cli import main

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        main(["fit", "--help"])
    lines = shown.getvalue().rstrip().splitlines()
    options = [line for line in lines if line.startswith("  --")]
    print(f"ordinate fit --help: {len(options)} options, {len(lines)} lines")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="print the lines of every file too")
    parser.add_argument("--lines", action="store_true", help="count lines alone, without importing the library")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines_of_code(each_file=options.files)
    if not options.lines:
        estimators()
        fits_of_cloc()
        fit_help()


if __name__ == "__main__":
    main()
