"""Formulas as MathML, which browsers draw by themselves: no script, no font and no network."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def register(app):
    """Add the renderer ``mathml`` to a Sphinx application and choose it."""
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None))
    app.config.html_math_renderer = "mathml"


def visit_inline(writer, node):
    """Write a formula within a line."""
    writer.body.append(convert(node.astext()))
    raise SkipNode


def visit_block(writer, node):
    """Write a formula on lines of its own."""
    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode
