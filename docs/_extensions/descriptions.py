"""A description of every page, and tags for the previews of its links."""

from html import escape

from docutils import nodes

LONGEST = 200
HIDDEN = (nodes.Invisible, nodes.table, nodes.literal_block, nodes.container)


def register(app):
    """Add the tags to the pages of a Sphinx application."""
    app.connect("html-page-context", add_tags)


def add_tags(app, pagename, templatename, context, doctree):
    """Take the description of the page's metadata, or its first paragraph."""
    text = (context.get("meta") or {}).get("description") or first_paragraph(doctree)
    if not text:
        return
    title = context.get("title", app.config.project)
    image = app.config.html_baseurl + "_images/report-top.png"
    tags = {
        'name="description"': text,
        'property="og:title"': title,
        'property="og:description"': text,
        'property="og:type"': "website",
        'property="og:site_name"': app.config.project,
        'property="og:url"': f"{app.config.html_baseurl}{pagename}.html",
        'property="og:image"': image,
        'name="twitter:card"': "summary_large_image",
    }
    context["metatags"] = context.get("metatags", "") + "".join(
        f'<meta {name} content="{escape(value, quote=True)}">\n' for name, value in tags.items()
    )


def first_paragraph(doctree):
    """Return the first paragraph of running text, cut to a length that search engines show."""
    for paragraph in doctree.findall(nodes.paragraph) if doctree else ():
        text = " ".join(paragraph.astext().split())
        if text and not any(isinstance(above, HIDDEN) for above in ancestors(paragraph)):
            return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
    return ""


def ancestors(node):
    """Yield the nodes around a node, from the innermost outwards."""
    while node.parent is not None:
        node = node.parent
        yield node
