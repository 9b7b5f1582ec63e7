"""A page of images and their neighbours, with their grades: one HTML file that opens offline."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from ordinate.counts import counted
from ordinate.data.images.pixels import as_picture
from ordinate.report.output import write_page
from ordinate.version import __version__

PAGE = "ordinate.report.page"  # Its assets are shared.


@dataclass(frozen=True)
class Picture:
    """An image on the page.

    Args:
        pixels: (c, h, w), the image.
        name: Its name, such as its path.
        text: What the page says of it, such as its grade.
    """

    pixels: NDArray[np.uint8]
    name: str
    text: str


def write_neighbours(queries: Sequence[Picture], neighbours: Sequence[Sequence[Picture]], path: str | Path) -> Path:
    """Write a page with every query, and its neighbours from the nearest on; return its path."""
    environment = Environment(loader=PackageLoader(PAGE, "assets"), autoescape=True, undefined=StrictUndefined)
    cases = [
        {"query": _shown(query), "neighbours": [_shown(each) for each in near]}
        for query, near in zip(queries, neighbours, strict=True)
    ]
    style = files(PAGE).joinpath("assets", "page.css").read_text(encoding="utf-8")
    page = environment.get_template("neighbours.html").render(
        title="Similar images",
        introduction=f"{counted(len(queries), 'image')}, each with the images that the model finds most similar.",
        cases=cases,
        style=Markup(style),  # noqa: S704  # The asset is ours.
        version=__version__,
    )
    return write_page(page, path)


def _shown(picture: Picture, most_side: int = 448) -> dict[str, str]:
    image = as_picture(picture.pixels)
    image.thumbnail((most_side, most_side))
    content = io.BytesIO()
    image.save(content, "WEBP", quality=85)
    data = base64.b64encode(content.getvalue()).decode()
    return {"picture": f"data:image/webp;base64,{data}", "name": picture.name, "text": picture.text}
