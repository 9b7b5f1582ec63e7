"use strict";
// What every page does: read its data, let Bokeh draw, keep colours in step with the theme.
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children); // text stays text, whatever is in it
  return made;
}

function unpack(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
}

async function draw(json) {
  Bokeh.set_log_level("warn");
  const roots = Object.fromEntries(json.roots.map(({ id, attributes }) => [id, `plot-${attributes.name}`]));
  await Bokeh.embed.embed_items({ drawn: json }, [{ docid: "drawn", roots, root_ids: Object.keys(roots) }]);
  for (const place of Object.values(roots)) { // keys do nothing on a canvas, and tables tell the same: no stop for them
    const canvas = byId(place).querySelector(".bk-Figure").shadowRoot.querySelector(".bk-Canvas");
    const layer = canvas.shadowRoot.querySelector(".bk-events");
    layer.tabIndex = -1;
    layer.style.outline = "none";
  }
  return Bokeh.documents[0];
}

const shadeCount = () => Number(css("--shades"));
const shades = () => Array.from({ length: shadeCount() }, (_, place) => css(`--r${place}`));

function mix(from, to, share) {
  const parts = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
  const [a, b] = [parts(from), parts(to)];
  return "#" + a.map((x, i) => Math.round(x + (b[i] - x) * share).toString(16).padStart(2, "0")).join("");
}

// Colours of samples by a value each: "true" and "predicted" in the colours of ranks, "error" from too low to too high.
function colours(by, data) {
  if (by === "error") {
    const [low, right, high] = [css("--low"), css("--right"), css("--high")];
    const share = data.ranks
      ? (size) => (size === 0 ? 0 : size === 1 ? 0.65 : 1)
      : (size) => Math.min(1, size / data.largeError);
    return data.error.map((error) => mix(right, error < 0 ? low : high, share(Math.abs(error))));
  }
  const all = shades();
  if (data.ranks) return data[by].map((rank) => all[rank]);
  const [least, most] = data.range;
  const last = all.length - 1;
  return data[by].map((value) => all[Math.round(Math.min(1, Math.max(0, (value - least) / (most - least || 1))) * last)]);
}

function paint(drawn) {
  const [ink, muted, line, accent] = ["--ink", "--muted", "--line", "--accent"].map(css);
  const all = shades();
  for (const plot of drawn.roots()) {
    for (const axis of [...plot.below, ...plot.left]) {
      axis.setv({ axis_label_text_color: muted, major_label_text_color: muted,
        axis_label_text_font: "system-ui, sans-serif", major_label_text_font: "system-ui, sans-serif" });
    }
    for (const grid of plot.center) grid.setv({ grid_line_color: line });
    for (const { name, glyph } of plot.renderers) {
      const rank = /^rank-(\d+)$/.exec(name ?? "");
      const colour = name === "ink" ? ink : name === "accent" ? accent : rank ? all[Number(rank[1])] : null;
      if (colour === null) continue;
      if (glyph.text_color !== undefined) glyph.setv({ text_color: { value: ink }, text_font: { value: "system-ui, sans-serif" } });
      if (glyph.line_color !== undefined) glyph.line_color = { value: colour };
      if (name === "accent" && glyph.fill_color !== undefined) glyph.fill_color = { value: colour };
    }
  }
}

const radio = (name) => document.querySelector(`input[name="${name}"]:checked`)?.value;

function onTheme(repaint) {
  const label = () => {
    const dark = document.documentElement.dataset.theme === "dark";
    byId("theme").setAttribute("aria-pressed", String(dark));
  };
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    dispatchEvent(new Event("themechange"));
  });
  addEventListener("themechange", () => { label(); repaint(); });
  label();
}

// Points of a cloud: which lies under the pointer, what dragging does.
function watchCloud(plot, source, x, y, { hover, click, visible }) {
  const place = byId(`plot-${plot.name}`);
  let pending = null;
  let pressed = null;
  const under = (event, reach) => {
    const box = place.getBoundingClientRect();
    const { x_scale: xs, y_scale: ys } = Bokeh.index.get_by_id(plot.id).frame;
    const [x0, dx, y0, dy] = [xs.compute(0), xs.compute(1) - xs.compute(0), ys.compute(0), ys.compute(1) - ys.compute(0)];
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const [columnX, columnY] = [source.data[x], source.data[y]];
    const shown = visible();
    let [best, least] = [-1, reach * reach];
    for (let i = 0; i < columnX.length; i++) {
      if (shown && !shown.has(i)) continue;
      const [ax, ay] = [x0 + columnX[i] * dx - px, y0 + columnY[i] * dy - py];
      const distance = ax * ax + ay * ay;
      if (distance < least) [best, least] = [i, distance]; // false for NaN: samples that are left out
    }
    return best < 0 ? null : { index: best, left: x0 + columnX[best] * dx, top: y0 + columnY[best] * dy };
  };
  place.addEventListener("pointermove", (event) => {
    if (pending === null) {
      requestAnimationFrame(() => {
        const last = pending;
        pending = null;
        if (last) hover(last.buttons ? null : under(last, 14));
      });
    }
    pending = event;
  });
  place.addEventListener("pointerleave", () => { pending = false; hover(null); });
  place.addEventListener("pointerenter", () => { pending = null; });
  place.addEventListener("pointerdown", (event) => { pressed = event; });
  place.addEventListener("pointerup", (event) => {
    if (pressed && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) < 5) {
      const found = under(event, event.pointerType === "touch" ? 24 : 14);
      if (found) click(found);
    }
    pressed = null;
  });
}

function dragWith(plots, kind) {
  for (const plot of plots) {
    for (const tool of plot.toolbar.tools) {
      if (["pan", "box", "lasso"].includes(tool.name)) tool.active = tool.name === kind;
      if (tool.name === "zoom") tool.active = kind === "pan";
    }
  }
}

function zoom(plot, factor) {
  for (const range of [plot.x_range, plot.y_range]) {
    const [middle, half] = [(range.start + range.end) / 2, ((range.end - range.start) / 2) * factor];
    range.setv({ start: middle - half, end: middle + half });
  }
}
