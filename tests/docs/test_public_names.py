"""The API pages name everything that is public, and nothing else; what they name has a docstring."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PUBLIC = (
    "ordinate", "ordinate.adapters", "ordinate.data", "ordinate.decisions", "ordinate.encoders", "ordinate.estimators",
    "ordinate.functional", "ordinate.heads", "ordinate.losses", "ordinate.methods", "ordinate.metrics",
    "ordinate_papers.datasets.images", "ordinate_papers.estimators", "ordinate.report.page",
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


def documented():
    """Return the names on the API pages and what they are, but for modules and constants."""
    found = {name: locate(name) for name, kind in listed().items() if not kind}
    return {name: value for name, value in found.items() if inspect.isclass(value) or callable(value)}


def test_every_name_has_a_docstring_and_so_have_its_methods():
    missing = [name for name, value in documented().items() if not (value.__doc__ or "").strip()]
    for name, value in documented().items():
        members = vars(value).items() if inspect.isclass(value) else ()
        for member, function in members:
            if (
                not member.startswith("_")
                and inspect.isfunction(function)
                and not inspect.getdoc(getattr(value, member))
            ):
                missing.append(f"{name}.{member}")
    assert missing == []


def test_every_name_has_an_example():
    assert [name for name, value in documented().items() if ">>>" not in (value.__doc__ or "")] == []


def test_every_example_is_run():
    """Those of decorated functions, which doctest does not find, are run here."""
    for name, value in documented().items():
        examples = doctest.DocTestParser().get_examples(value.__doc__)
        assert not all(doctest.SKIP in example.options for example in examples), name
        if hasattr(value, "__wrapped__") and not inspect.isclass(value):
            module = vars(import_module(inspect.unwrap(value).__module__))
            test = doctest.DocTest(examples, dict(module), name, None, None, value.__doc__)
            assert doctest.DocTestRunner(verbose=False).run(test).failed == 0, name
