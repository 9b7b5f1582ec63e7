// The page of one model: the selection runs through all of its pictures.
(async () => {
  const data = JSON.parse(byId("data").textContent);
  const n = data.true.length;
  const ranks = data.ranks;
  const targets = [data, ...data.others];
  let target = data; // the one that the colours of the embedding are of
  const neighbours = unpack(data.neighbours, Int32Array);
  const k = neighbours.length / n;
  const levels = data.shown.kind === "curves" ? unpack(data.shown.levels, Uint8Array) : null;
  for (const projection of data.projections) {
    projection.x = Array.from(unpack(projection.x, Float32Array));
    projection.y = Array.from(unpack(projection.y, Float32Array));
  }
  const drawn = await draw(JSON.parse(byId("plots").textContent));
  const plots = Object.fromEntries(drawn.roots().map((plot) => [plot.name, plot]));
  const source = drawn.get_model_by_name("samples");
  const clouds = drawn.roots().filter(({ name }) => name === "embedding" || name.startsWith("predicted"));
  let selected = null; // a Set of samples, or null for all
  let opened = null;

  // what a sample looks like

  const nameOf = (i) => data.names?.[i] ?? `sample ${i}`;
  const plain = (value, digits) => Number(value.toPrecision(digits)).toString().replace("-", "−");
  const labelOf = (value) => (ranks ? ranks[value] : plain(value, 4));
  const isWrong = (i) => ranks && data.true[i] !== data.predicted[i];

  function picture(i, size) {
    const shown = data.shown;
    if (shown.kind === "pictures") {
      if (i >= shown.count) return element("span", { class: "picture none" });
      const scale = size / Math.max(shown.width, shown.height);
      const [w, h] = [shown.width * scale, shown.height * scale];
      const place = i % (shown.side * shown.side);
      const made = element("span", { class: "picture" });
      Object.assign(made.style, {
        width: `${w}px`, height: `${h}px`,
        backgroundImage: `url("${shown.sheets[Math.floor(i / (shown.side * shown.side))]}")`,
        backgroundSize: `${w * shown.side}px ${h * shown.side}px`,
        backgroundPosition: `${-(place % shown.side) * w}px ${-Math.floor(place / shown.side) * h}px`,
      });
      return made;
    }
    if (shown.kind !== "curves") return null;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const [w, h] = [size * 1.6, size * 0.8];
    svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
    svg.setAttribute("width", w);
    svg.setAttribute("height", h);
    svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("class", "curve");
    for (let channel = 0; channel < shown.channels; channel++) {
      const start = (i * shown.channels + channel) * shown.steps;
      let path = "";
      let gap = true;
      for (let step = 0; step < shown.steps; step++) {
        const level = levels[start + step];
        if (level === 255) { gap = true; continue; }
        const [x, y] = [(step / Math.max(1, shown.steps - 1)) * (w - 4) + 2, h - 2 - (level / 254) * (h - 4)];
        path += `${gap ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
        gap = false;
      }
      const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("d", path);
      line.setAttribute("class", `channel-${channel}`);
      svg.append(line);
    }
    return svg;
  }

  function row(i, most) {
    if (data.shown.kind !== "rows") return null;
    const list = element("dl", { class: "row" });
    data.shown.columns.slice(0, most).forEach((name, column) => {
      list.append(element("dt", {}, name), element("dd", {}, data.shown.values[column][i]));
    });
    const left = data.shown.columns.length - most;
    if (left > 0) list.append(element("dt", { class: "more" }, `and ${left} more`), element("dd"));
    return list;
  }

  function reasons(i) {
    const reason = data.reasons[i];
    if (!reason) return [];
    const list = element("dl", { class: "row" });
    for (const [name, part] of reason.parts) {
      const column = data.shown.columns.indexOf(name);
      const value = column < 0 ? "" : ` = ${data.shown.values[column][i]}`;
      list.append(element("dt", {}, `${name}${value}`), element("dd", {}, `${part > 0 ? "+" : ""}${plain(part, 3)}`));
    }
    return [element("h4", {}, "What moved this prediction"), element("p", { class: "hint" },
      `What each column adds to the mean prediction, ${plain(reason.baseline, 4)}.`), list];
  }

  function verdict(i) {
    const sure = data.confidence ? ` (${Math.round(data.confidence[i] * 100)}%)` : "";
    const lines = targets.map((each) => element("p", { class: "verdict" }, targets.length > 1 ? `${each.target}: ` : "",
      "true ", element("b", {}, labelOf(each.true[i])), " · predicted ", element("b", {}, labelOf(each.predicted[i])), sure));
    if (isWrong(i)) lines[0].append(" ", element("span", { class: "wrong" }, "wrong"));
    return lines;
  }

  function describe(i, size, most) {
    return [picture(i, size), element("p", { class: "name" }, nameOf(i)), ...verdict(i), row(i, most)].filter(Boolean);
  }

  // hovering and clicking

  const card = byId("card");
  let carded = -1;
  function hover(found) {
    card.hidden = found === null;
    if (found === null) { carded = -1; return; }
    if (carded !== found.index) {
      carded = found.index;
      card.replaceChildren(element("i", { class: "ring" }), ...describe(found.index, 112, 6));
    }
    const { clientWidth: width, clientHeight: height } = byId("plot-embedding");
    const left = Math.max(0, Math.min(found.left + 16, width - card.offsetWidth));
    const top = found.top > height / 2 ? found.top - 16 - card.offsetHeight : found.top + 16;
    card.style.transform = `translate(${left}px, ${top}px)`;
    card.firstChild.style.transform = `translate(${found.left - left}px, ${found.top - top}px)`;
  }

  function open(i, move = false) {
    opened = i;
    const near = Array.from({ length: k }, (_, place) => neighbours[i * k + place]);
    const agreeing = near.filter((j) => data.true[j] === data.true[i]).length;
    const list = element("ol", { class: "neighbours" });
    for (const j of near) {
      const other = ranks && data.true[j] !== data.true[i];
      list.append(element("li", {}, element("button", { type: "button", class: other ? "other" : null,
        "aria-label": `${nameOf(j)}, label ${labelOf(target.true[j])}: show`, onclick: () => open(j) },
      ...[picture(j, 56), element("span", { class: "label" }, labelOf(target.true[j]), other ? " ≠" : "")].filter(Boolean))));
    }
    const heading = element("h3", { tabindex: "-1" }, nameOf(i));
    const parts = [heading, ...[picture(i, 168), ...verdict(i)].filter(Boolean)];
    if (data.probabilities) {
      const bars = element("dl", { class: "chances", "aria-label": "probability of every rank" });
      ranks.forEach((name, rank) => {
        const share = data.probabilities[rank][i] / 100;
        const bar = element("dd", {}, element("span", { class: "bar" }), `${Math.round(share * 100)}%`);
        bar.style.setProperty("--v", share);
        bar.style.setProperty("--c", `var(--r${rank})`);
        bars.append(element("dt", {}, name), bar);
      });
      parts.push(bars);
    }
    parts.push(row(i, 40), ...reasons(i), element("h4", {}, `The ${k} samples nearest to it`), element("p", { class: "hint" },
      ranks ? `${agreeing} of ${k} have its label; ≠ marks the others.` : "Their labels, the nearest first."), list);
    byId("sample").replaceChildren(...parts.filter(Boolean));
    mark();
    const isNarrow = matchMedia("(max-width: 60rem)").matches; // The sample is then below the embedding.
    if (move) heading.focus({ preventScroll: true });
    if (isNarrow) byId("sample").scrollIntoView({ block: "start" });
    else if (move) byId("embedding").scrollIntoView({ block: "start" });
  }

  function mark() {
    const nearest = drawn.get_model_by_name("neighbours");
    const chosen = drawn.get_model_by_name("chosen");
    if (opened === null || !plots.embedding) return;
    const { x, y } = source.data;
    const near = Array.from({ length: k }, (_, place) => neighbours[opened * k + place]);
    nearest.data = { x0: near.map(() => x[opened]), y0: near.map(() => y[opened]), x1: near.map((j) => x[j]), y1: near.map((j) => y[j]) };
    chosen.data = { x: [x[opened]], y: [y[opened]] };
  }

  // colours and projections

  function repaint() {
    paint(drawn);
    const by = radio("colour");
    source.data = { ...source.data, colour: colours(by, target) };
    const scale = document.querySelector(".scale");
    if (targets.length > 1) [scale.firstChild.data, scale.lastChild.data] = target.range.map((end) => plain(end, 4));
    for (const legend of document.querySelectorAll("[data-legend]")) legend.hidden = legend.dataset.legend !== (by === "error" ? "error" : "label");
  }

  function place() {
    const projection = data.projections.find(({ key }) => key === radio("projection"));
    source.data = { ...source.data, x: projection.x, y: projection.y };
    byId("projection-note").textContent = projection.note;
    reset();
    mark();
  }

  const reset = () => Bokeh.index.get_by_id(plots.embedding.id).reset();

  // the selection

  function select(indices) {
    source.selected.indices = indices === null ? [] : Array.from(indices);
    if (indices?.length === 0) {
      byId("selection").hidden = false;
      note("No sample has both: all are shown.");
    }
  }

  const note = (text) => { byId("selection-text").textContent = text; };

  function update() {
    const indices = source.selected.indices;
    selected = indices.length ? new Set(indices) : null;
    const bar = byId("selection");
    bar.hidden = selected === null;
    if (selected) note(`${indices.length.toLocaleString("en")} of ${n.toLocaleString("en")} samples: every picture shows these.`);
    const rows = selected ? indices : Array.from({ length: n }, (_, i) => i);
    if (ranks) { confusion(rows); boundaries(rows); reliability(rows); }
    targets.forEach((each, place) => groups(rows, each, place || ""));
    table(rows);
  }

  const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%` : "–");
  function setBar(cell, share, text) {
    cell.style.setProperty("--v", Number.isFinite(share) ? share : 0);
    cell.querySelector("[data-text]").textContent = text;
  }

  function confusion(rows) {
    const C = ranks.length;
    const counts = new Float64Array(C * C);
    for (const i of rows) counts[data.true[i] * C + data.predicted[i]]++;
    for (const cell of document.querySelectorAll("#confusion [data-true]")) {
      const [t, p] = [Number(cell.dataset.true), Number(cell.dataset.predicted)];
      let total = 0;
      for (let other = 0; other < C; other++) total += counts[t * C + other];
      const count = counts[t * C + p];
      cell.style.setProperty("--v", total ? count / total : 0);
      const button = cell.firstElementChild;
      button.replaceChildren(count ? percent(count / total) : "·", ...(count ? [element("span", { class: "of" }, count)] : []));
      button.disabled = count === 0;
      button.setAttribute("aria-label", `${count} of true rank ${ranks[t]} predicted as ${ranks[p]}`);
    }
  }

  function boundaries(rows) {
    for (const line of document.querySelectorAll("#boundaries [data-boundary]")) {
      const h = Number(line.dataset.boundary);
      let [beside, crossed] = [0, 0];
      for (const i of rows) {
        const [t, p] = [data.true[i], data.predicted[i]];
        if (t !== h && t !== h + 1) continue;
        beside++;
        if (p === 2 * h + 1 - t) crossed++;
      }
      setBar(line.querySelector(".bars"), crossed / beside, percent(crossed / beside));
      line.querySelector("[data-count]").textContent = `${crossed} of ${beside}`;
    }
  }

  function groups(rows, { groups: names, groupOf, error: errors, errorScale }, end) {
    const G = names.length;
    const [count, right, error] = [0, 1, 2].map(() => new Float64Array(G));
    for (const i of rows) {
      const g = groupOf[i];
      count[g]++;
      right[g] += errors[i] === 0;
      error[g] += Math.abs(errors[i]);
    }
    for (const line of document.querySelectorAll(`#groups${end} [data-group]`)) {
      const g = Number(line.dataset.group);
      line.querySelector("[data-count]").textContent = count[g].toLocaleString("en");
      const share = line.querySelector(".right");
      if (share) setBar(share, right[g] / count[g], percent(right[g] / count[g]));
      const mean = error[g] / count[g];
      setBar(line.querySelector(".error"), Math.min(1, mean / errorScale), count[g] ? plain(mean, 3) : "–");
    }
  }

  function reliability(rows) {
    const points = drawn.get_model_by_name("reliability");
    if (!points) return;
    const [count, promised, right] = [0, 1, 2].map(() => new Float64Array(10));
    for (const i of rows) {
      const bin = Math.min(9, Math.floor(data.confidence[i] * 10));
      count[bin]++;
      promised[bin] += data.confidence[i];
      right[bin] += data.error[i] === 0;
    }
    const bins = [...count.keys()].filter((bin) => count[bin] > 0);
    const most = Math.max(...count);
    points.data = {
      promised: bins.map((bin) => promised[bin] / count[bin]),
      measured: bins.map((bin) => right[bin] / count[bin]),
      size: bins.map((bin) => 7 + 17 * Math.sqrt(count[bin] / most)),
    };
  }

  // the samples as a table

  const LINES = 12;
  let [listed, first] = [[], 0];
  const size = (i) => Math.max(...targets.map(({ error, largeError }) => Math.abs(error[i]) / largeError)); // 1: large
  function table(rows) {
    listed = byId("only-wrong").checked ? rows.filter((i) => (ranks ? isWrong(i) : size(i) > 1)) : rows.slice();
    if (byId("worst-first").checked) listed.sort((a, b) => size(b) - size(a) || a - b);
    first = 0;
    turn(0);
  }

  function turn(lines) {
    first = Math.max(0, Math.min(first + lines, Math.floor(Math.max(0, listed.length - 1) / LINES) * LINES));
    const body = byId("samples-body");
    body.replaceChildren(...listed.slice(first, first + LINES).map((i) => element("tr", {},
      element("td", {}, element("button", { type: "button", class: "link", onclick: () => open(i, true) }, ...[picture(i, 36), nameOf(i)].filter(Boolean))),
      ...targets.flatMap((each) => [labelOf(each.true[i]), labelOf(each.predicted[i]),
        data.confidence ? percent(data.confidence[i]) : plain(each.error[i], 3)]).map((text) => element("td", { class: "number" }, text)))));
    const last = Math.min(first + LINES, listed.length);
    byId("samples-range").textContent = listed.length ? `${(first + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${listed.length.toLocaleString("en")}` : "no sample";
    byId("samples-back").disabled = first === 0;
    byId("samples-on").disabled = last >= listed.length;
  }

  // wiring

  source.selected.properties.indices.change.connect(update);
  for (const plot of clouds) {
    const [x, y] = plot.name === "embedding" ? ["x", "y"] : [plot.name.replace("predicted", "true"), plot.name];
    watchCloud(plot, source, x, y, {
      hover: plot.name === "embedding" ? hover : () => {},
      click: ({ index }) => open(index, plot.name !== "embedding"),
      visible: () => selected,
    });
  }
  const whenever = (selector, event, then) => {
    for (const found of document.querySelectorAll(selector)) found.addEventListener(event, then);
  };
  whenever('input[name="colour"]', "change", repaint);
  whenever("#target", "change", (event) => { target = targets[event.currentTarget.value]; repaint(); });
  whenever('input[name="projection"]', "change", place);
  whenever('input[name="drag"]', "change", () => dragWith(clouds, radio("drag")));
  whenever("[data-zoom]", "click", (event) => zoom(plots.embedding, Number(event.currentTarget.dataset.zoom)));
  byId("reset").addEventListener("click", reset);
  byId("clear").addEventListener("click", () => { select(null); byId("selection").hidden = true; byId("plot-embedding").focus(); });
  const chosen = (id) => (byId(id) && byId(id).value !== "" ? Number(byId(id).value) : null);
  const filter = () => {
    const [t, p] = [chosen("filter-true"), chosen("filter-predicted")];
    if (t === null && p === null) { select(null); return; }
    const found = [];
    for (let i = 0; i < n; i++) if ((t === null || data.groupOf[i] === t) && (p === null || data.predicted[i] === p)) found.push(i);
    select(found);
  };
  whenever("#filter-true, #filter-predicted", "change", filter);
  whenever("[data-rank]", "click", (event) => {
    byId("filter-true").value = event.currentTarget.dataset.rank;
    filter();
  });
  whenever("#confusion button", "click", (event) => {
    const { true: t, predicted: p } = event.currentTarget.parentElement.dataset;
    const found = [];
    for (let i = 0; i < n; i++) if (data.true[i] === Number(t) && data.predicted[i] === Number(p)) found.push(i);
    select(found);
  });
  addEventListener("keydown", (event) => { if (event.key === "Escape") { hover(null); select(null); } });
  source.selected.properties.indices.change.connect(() => {
    if (source.selected.indices.length === 0) for (const id of ["filter-true", "filter-predicted"]) if (byId(id)) byId(id).value = "";
  });
  whenever("#only-wrong, #worst-first", "change", update);
  byId("samples-back").addEventListener("click", () => turn(-LINES));
  byId("samples-on").addEventListener("click", () => turn(LINES));
  for (const button of document.querySelectorAll("[data-open]")) {
    const i = Number(button.dataset.open);
    const shown = picture(i, 44);
    if (shown) button.prepend(shown);
    button.addEventListener("click", () => open(i, true));
  }
  if (matchMedia("(pointer: coarse)").matches) document.querySelector('input[name="drag"][value="none"]').checked = true;
  onTheme(repaint);
  repaint();
  place();
  dragWith(clouds, radio("drag"));
  update();
  document.documentElement.dataset.ready = "true";
})();
