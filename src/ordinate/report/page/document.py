"""One HTML page that needs nothing else: everything inlined, nothing allowed to be fetched."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from bokeh.palettes import Viridis256
from bokeh.resources import Resources
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

Values = dict[str, Any]  # A template or a script fills in these values, which are ready for JSON.


def render(template: str, script: str, **values: object) -> str:
    """Return a template of this package as a page that a script of this package runs.

    Every value is escaped, and no script runs but those of this package: their hashes are in the page's
    Content-Security-Policy, which also forbids every request.
    """
    environment = Environment(loader=PackageLoader(__package__, "assets"), autoescape=True, undefined=StrictUndefined)
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    environment.trim_blocks = environment.lstrip_blocks = True
    bokeh = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw).replace("</script", "<\\/script")
    scripts = {"theme": _asset("theme.js"), "bokeh": bokeh, "page": _asset("shared.js") + _asset(script)}
    policy = "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src " + " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts.values()
    )
    return environment.get_template(template).render(
        **{**values, "style": Markup(_asset("page.css")), "policy": policy},  # noqa: S704  # The assets are ours.
        scripts={name: Markup(text) for name, text in scripts.items()},  # noqa: S704
    )


def colours(names: Sequence[str] | None, shades: int = 32) -> dict[str, list[str]]:
    """Return a colour per rank for the light and for the dark page, from the lowest to the highest.

    Continuous targets are drawn in ``shades`` colours.
    """
    count = len(names or range(shades))
    visible = {"light": (0.0, 0.86), "dark": (0.22, 1.0)}  # These parts of the colour map differ from the page.
    return {
        theme: [Viridis256[min(int(256 * place), 255)].lower() for place in np.linspace(*part, max(2, count))]
        for theme, part in visible.items()
    }


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")
