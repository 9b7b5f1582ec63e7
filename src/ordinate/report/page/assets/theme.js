"use strict";
// before anything is shown, so that nothing flashes
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const follow = () => { root.dataset.theme = dark.matches ? "dark" : "light"; };
  follow();
  dark.addEventListener("change", () => { follow(); dispatchEvent(new Event("themechange")); });
})();
