"""The report page as people use it, of models that were really trained: in light and dark, by mouse and by keyboard."""

import base64
import csv
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ordinate import CLOCClassifier, ImageOptions
from ordinate.report.page import write_report
from ordinate_papers.datasets.images import load
from tests.data import pictures
from tests.estimators.examples import cloc, draw_frame, draw_series, draw_table, otd, ranks_of, supcr

HOSTILE = '</script><img src=x onerror="alert(1)">\u2028\'{{7*7}}&amp;'
COSTS = pd.DataFrame({"rule": ["most probable rank", "least expected cost"], "mean cost": [0.8, 0.6]})

POSITION = """i => {
    const plot = Bokeh.documents[0].roots().find(({name}) => name === "embedding");
    const {x_scale, y_scale} = Bokeh.index.get_by_id(plot.id).frame;
    const {x, y} = Bokeh.documents[0].get_model_by_name("samples").data;
    const box = document.getElementById("plot-embedding").getBoundingClientRect();
    return [box.left + x_scale.compute(x[i]), box.top + y_scale.compute(y[i])];
}"""
SELECTED = """() => Array.from(Bokeh.documents[0].get_model_by_name("samples").selected.indices)"""
INK = """id => {
    const canvases = [];
    const visit = (node) => {
        if (node instanceof HTMLCanvasElement && node.width) canvases.push(node);
        for (const child of node.children ?? []) visit(child);
        if (node.shadowRoot) visit(node.shadowRoot);
    };
    visit(document.getElementById(id));
    return Math.max(0, ...canvases.map((canvas) => {
        const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let drawn = 0;
        for (let i = 3; i < data.length; i += 4) drawn += data[i] > 0;
        return drawn;
    }));
}"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="session")
def table(folder):
    X, target = draw_frame(160)
    y = ranks_of(target, 4)
    names = [HOSTILE, *(f"patient {i}" for i in range(1, 100))]
    X = X.assign(**{HOSTILE: 1.0})
    X.loc[[0, 1, 60], "text"] = HOSTILE
    model = cloc(epochs=(3, 3), critical_margins={(1, 2): 0.8}).fit(X[:60], y[:60]).fitted
    return write_report(
        model, X[60:], y[60:], folder / "table.html", training=(X[:60], y[:60]), target=HOSTILE, names=names,
        costs=COSTS, command="ordinate report", facts={"Data": HOSTILE},
        projections=("pca", "tsne"),
    )  # fmt: skip


@pytest.fixture(scope="session")
def images(folder):
    ranks = np.arange(60) % 3
    model = otd(encoder="test_resnet", epochs=3).fit(pictures.draw(ranks), ranks)
    return write_report(
        model.fitted, pictures.draw(ranks, seed=1), ranks, folder / "images.html", projections=("pca", "tsne")
    )


@pytest.fixture(scope="session")
def targets(folder):
    X, target = draw_series(60)
    return write_report(supcr().fit(X, target).fitted, X, target, folder / "targets.html", projections=("pca",))


@pytest.fixture(scope="session")
def several(folder):
    X, target = draw_table(60)
    two = np.column_stack([target, 10 * X[:, 0]])
    path = folder / "several.html"
    return write_report(supcr().fit(X, two).fitted, X, two, path, target=("east", HOSTILE), projections=("pca",))


@pytest.fixture(params=["table", "images", "targets", "several"])
def each(request):
    return request.getfixturevalue(request.param)


def counts(page):
    return [int(text) for text in page.locator("#groups [data-count]").all_inner_texts()]


def point_at(page, i):
    page.locator("#embedding").evaluate("node => node.scrollIntoView({behavior: 'instant'})")
    x, y = page.evaluate(POSITION, i)
    page.mouse.move(x - 2, y)
    page.mouse.move(x, y)


@pytest.mark.typical("light-390")
@pytest.mark.parametrize(("theme", "width"), [("light", 390), ("light", 768), ("dark", 1280)])
def test_every_picture_draws_and_nothing_is_wider_than_the_window(open_page, each, theme, width):
    page = open_page(each, theme=theme, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.wait_for_timeout(200)
    plots = page.locator("[id^=plot-]").evaluate_all("nodes => nodes.map(({id}) => id)")
    assert plots
    for plot in plots:
        assert page.evaluate(INK, plot) > 200, plot


@pytest.mark.typical("table-light", "images-dark")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_page, each, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    script = Path(axe.__file__).parent / "axe.min.js"
    page = open_page(each, theme=theme)
    page.evaluate(script.read_text())
    found = page.evaluate("axe.run()")["violations"]
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    assert [(rule["id"], [node["html"][:120] for node in rule["nodes"]][:3]) for rule in serious] == []


def test_pointing_shows_the_sample_and_text_stays_text(open_page, table):
    page = open_page(table)
    point_at(page, 0)
    card = page.locator("#card")
    card.wait_for(state="visible")
    assert HOSTILE.replace("\u2028", "") in card.inner_text().replace("\u2028", "")
    assert page.locator("img").count() == 0
    assert (
        page.locator("h1")
        .inner_text()
        .replace("\u2028", "")
        .startswith(f"Predicting {HOSTILE}: ".replace("\u2028", ""))
    )
    page.mouse.move(2, 2)
    card.wait_for(state="hidden")


def test_choosing_a_sample_shows_its_nearest_neighbours_with_their_labels(open_page, images):
    page = open_page(images)
    point_at(page, 5)
    page.mouse.down()
    page.mouse.up()
    panel = page.locator("#sample")
    panel.locator("h3", has_text="sample 5").wait_for()
    assert panel.locator(".neighbours li").count() == 8
    assert panel.locator(".neighbours .picture").count() == 8
    first = panel.locator(".neighbours button").first
    name = first.get_attribute("aria-label").split(",")[0]
    first.click()
    assert panel.locator("h3").inner_text() == name


def test_a_box_filters_every_other_picture_and_escape_ends_it(open_page, table):
    page = open_page(table)
    every = counts(page)
    assert sum(every) == 100
    page.locator("#embedding").evaluate("node => node.scrollIntoView({behavior: 'instant'})")
    box = page.locator("#plot-embedding").bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 10, steps=5)
    page.mouse.up()
    page.locator("#selection").wait_for(state="visible")
    chosen = page.evaluate(SELECTED)
    assert 0 < len(chosen) < 100
    assert sum(counts(page)) == len(chosen)
    assert sum(map(int, page.locator("#confusion button .of").all_inner_texts())) == len(chosen)
    assert page.locator("#samples-range").inner_text().endswith(f"of {len(chosen)}")
    page.keyboard.press("Escape")
    page.locator("#selection").wait_for(state="hidden")
    assert counts(page) == every


def test_the_confusion_matrix_has_the_numbers_of_python_and_selects_samples_by_keyboard(open_page, table):
    page = open_page(table)
    accuracy = page.locator(".scores .own .value").first.inner_text().split()[0]
    diagonal = [page.locator(f'#confusion [data-true="{r}"][data-predicted="{r}"]').inner_text() for r in range(4)]
    right = sum(int(text.split()[-1]) for text in diagonal if text != "·")
    assert accuracy == f"{right}%"  # of 100 samples
    button = page.locator("#confusion button:not(:disabled)").first
    count = int(button.inner_text().split()[-1])
    button.focus()
    page.keyboard.press("Enter")
    page.locator("#selection").wait_for(state="visible")
    assert len(page.evaluate(SELECTED)) == count
    page.locator("#clear").click()
    assert page.evaluate(SELECTED) == []


def test_the_theme_follows_the_system_and_the_switch(open_page, table):
    page = open_page(table, theme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.get_by_role("button", name="Dark page", pressed=True).click()
    assert page.evaluate(background) == "rgb(255, 255, 255)" != dark
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(200)
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector('html[data-theme="dark"]')
    assert page.evaluate(background) == dark


def test_labels_to_check_are_downloaded_as_csv(open_page, folder):
    X, target = draw_table(60)
    y = ranks_of(target)
    suspects = pd.DataFrame({"row": [3], "label": ["0"], "suggested": [HOSTILE], "suspicion": [0.75]})
    path = write_report(otd().fit(X, y).fitted, X, y, folder / "suspects.html", suspects=suspects, projections=("pca",))
    page = open_page(path)
    link = page.locator("a[download]")
    content = base64.b64decode(link.get_attribute("href").split("base64,")[1]).decode()
    assert list(csv.DictReader(io.StringIO(content))) == [
        {"row": "3", "label": "0", "suggested": HOSTILE, "suspicion": "0.75", "sample": "sample 3"}
    ]
    page.locator("[data-open]").click()
    assert page.locator("#sample h3").inner_text() == "sample 3"


def select_left_half(page, plot):
    page.locator(plot).scroll_into_view_if_needed()
    box = page.locator(plot).bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 60, steps=5)
    page.mouse.up()
    page.locator("#selection").wait_for(state="visible")


def test_targets_are_selected_in_one_picture_and_seen_in_the_other(open_page, targets):
    page = open_page(targets)
    select_left_half(page, "#plot-predicted")
    assert 0 < sum(counts(page)) < 60
    point_at(page, page.evaluate(SELECTED)[0])
    page.locator("#card .curve path").first.wait_for()


def test_each_of_several_targets_is_drawn_and_colours_the_embedding(open_page, several):
    page = open_page(several)
    colours = "() => Array.from(Bokeh.documents[0].get_model_by_name('samples').data.colour)"
    first = page.evaluate(colours)
    page.select_option("#target", "1")
    assert page.evaluate(colours) != first
    select_left_half(page, "#plot-predicted1")
    selected = len(page.evaluate(SELECTED))
    assert 0 < selected < 60
    of_second = page.locator("#groups1 [data-count]").all_inner_texts()
    assert sum(map(int, of_second)) == sum(counts(page)) == selected
    point_at(page, page.evaluate(SELECTED)[0])
    assert page.locator("#card .verdict").count() == 2
    assert page.locator("#samples-body tr").first.locator("td").count() == 1 + 3 * 2


def test_on_a_touch_screen_dragging_scrolls_the_page(open_page, table):
    page = open_page(table, width=390, touch=True)
    assert page.evaluate("matchMedia('(pointer: coarse)').matches") == (
        page.locator('input[name="drag"]:checked').get_attribute("value") == "none"
    )


@pytest.mark.thorough
@pytest.mark.skipif("ORDINATE_DATA" not in os.environ, reason="the data sets of ORDINATE_DATA are not here")
def test_the_readme_shows_a_page_of_real_images(open_page, folder):
    """Writes the README's pictures where ORDINATE_SCREENSHOTS names a folder for them."""
    data: Any = load("retinamnist")
    ranks, splits = data.labels.to_numpy(), data.splits.to_numpy()
    train, test = np.flatnonzero(splits != "test"), np.flatnonzero(splits == "test")
    settings = {"encoder": "test_resnet", "epochs": (2, 6), "batch_size": 32, "random_state": 0}
    model = CLOCClassifier(data=ImageOptions(size=28), **settings).fit(data.samples[train], ranks[train])
    seen, unseen = (data.samples[train], ranks[train]), (data.samples[test], ranks[test])
    path = write_report(model.fitted, *unseen, folder / "retina.html", training=seen, target="retinopathy grade")
    page = open_page(path)
    pictures_of = Path(os.environ.get("ORDINATE_SCREENSHOTS", folder))
    page.screenshot(path=pictures_of / "report-top.png", clip={"x": 0, "y": 0, "width": 1280, "height": 760})
    page.locator("#embedding").evaluate("node => node.scrollIntoView({behavior: 'instant'})")
    page.mouse.click(*page.evaluate(POSITION, int(np.flatnonzero(unseen[1] == 4)[0])))
    page.wait_for_timeout(300)
    assert "true 4" in page.locator("#sample").inner_text()
    page.screenshot(path=pictures_of / "report-embedding.png")
    assert all((pictures_of / f"report-{part}.png").stat().st_size > 30_000 for part in ("top", "embedding"))
