"""The API pages name everything that is public, and nothing else; what they name has a docstring."""

import re
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PUBLIC = (
    "ordinate", "ordinate.adapters", "ordinate.data", "ordinate.decisions", "ordinate.encoders", "ordinate.estimators",
    "ordinate.functional", "ordinate.heads", "ordinate.losses", "ordinate.methods", "ordinate.metrics",
    "ordinate.papers.datasets.images", "ordinate.papers.estimators", "ordinate.report.page",
)  # fmt: skip
LINE = re.compile(r"^(?:\.\. (module|data):: |   (?=[\w.]+$))([\w.]+)$", re.MULTILINE)


def listed():
    """Return what the API pages name, by its full name."""
    found = {}
    for page in sorted((DOCS / "api").glob("*.rst")):
        module = ""
        for kind, name in LINE.findall(page.read_text(encoding="utf-8")):
            if kind == "module":
                module = name
            else:
                found[f"{module}.{name}"] = kind
    return found


def locate(name):
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def test_every_public_name_is_on_a_page():
    documented = [locate(name) for name in listed()]
    missing = [
        f"{package}.{name}"
        for package in PUBLIC
        for name in import_module(package).__all__
        if not any(locate(f"{package}.{name}") is known for known in documented)
    ]
    assert missing == []


def test_no_name_is_on_two_pages():
    documented = [id(locate(name)) for name, kind in listed().items() if not kind]
    assert len(documented) == len(set(documented)) > 100


def test_every_name_has_a_docstring():
    assert [name for name, kind in listed().items() if not kind and not (locate(name).__doc__ or "").strip()] == []
