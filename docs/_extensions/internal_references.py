"""References that lead to no page: fine where they name something that exists, and a warning where they do not."""

import pydoc

SCIKIT_LEARN_LABELS = {"accuracy_score", "r2_score"}  # in what estimators inherit


def register(app):
    """Answer a Sphinx application's unresolved references."""
    app.connect("missing-reference", resolve)


def resolve(app, env, node, content):
    """Return the plain text of a reference to another project, or to an internal name of Ordinate's that exists."""
    target = node.get("reftarget", "")
    if node.get("refdomain") == "std":
        return content if target in SCIKIT_LEARN_LABELS else None
    if node.get("refdomain") != "py":
        return None
    bare_type = "." not in target and node["reftype"] == "class"  # in a signature, or in what scikit-learn documents
    if bare_type or ("." in target and not target.startswith("ordinate.")):
        return content
    return content if pydoc.locate(target) or pydoc.locate(f"{node.get('py:module')}.{target}") else None
