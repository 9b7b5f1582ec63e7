// The page of several models: their embeddings share the samples, and what is selected.
(async () => {
  const data = JSON.parse(byId("data").textContent);
  const n = data.true.length;
  const drawn = await draw(JSON.parse(byId("plots").textContent));
  const source = drawn.get_model_by_name("samples");

  // every picture has colours of its own: predictions and errors differ from model to model
  function repaint() {
    paint(drawn);
    const by = radio("colour");
    const painted = {};
    data.models.forEach((model, place) => { painted[`colour${place}`] = colours(by, { ...data, ...model }); });
    source.data = { ...source.data, ...painted };
    for (const legend of document.querySelectorAll("[data-legend]")) legend.hidden = legend.dataset.legend !== (by === "error" ? "error" : "label");
  }

  function update() {
    const count = source.selected.indices.length;
    byId("selection").hidden = count === 0;
    byId("selection-text").textContent = `${count.toLocaleString("en")} of ${n.toLocaleString("en")} samples are selected.`;
  }

  source.selected.properties.indices.change.connect(update);
  const clear = () => { source.selected.indices = []; };
  byId("clear").addEventListener("click", clear);
  addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });
  for (const button of document.querySelectorAll("[data-rank]")) {
    button.addEventListener("click", () => {
      source.selected.indices = data.true.flatMap((rank, i) => (rank === Number(button.dataset.rank) ? [i] : []));
    });
  }
  for (const input of document.querySelectorAll('input[name="colour"]')) input.addEventListener("change", repaint);
  for (const input of document.querySelectorAll('input[name="drag"]')) input.addEventListener("change", () => dragWith(drawn.roots(), radio("drag")));
  onTheme(repaint);
  repaint();
  dragWith(drawn.roots(), radio("drag"));
  document.documentElement.dataset.ready = "true";
})();
