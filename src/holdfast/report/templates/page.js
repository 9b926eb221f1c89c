// The page works without this: it adds the switch of the colours and the filter of the examples.
"use strict";
(() => {
  const root = document.documentElement;
  const KEY = "holdfast-theme";
  const STEP = 20;

  const remembered = () => {
    try { return localStorage.getItem(KEY) || "auto"; } catch { return "auto"; }
  };
  const remember = (value) => {
    try { localStorage.setItem(KEY, value); } catch { /* then it lasts as long as the page */ }
  };
  const paint = (value) => {
    if (value === "light" || value === "dark") root.dataset.theme = value;
    else delete root.dataset.theme;
  };
  paint(remembered()); // before anything is drawn, so that nothing flashes

  const startTheme = () => {
    const box = document.querySelector(".theme");
    const now = remembered();
    box.hidden = false;
    for (const input of box.querySelectorAll("input")) {
      input.checked = input.value === now;
      input.addEventListener("change", () => { remember(input.value); paint(input.value); });
    }
  };

  const startFilter = (form) => {
    const section = form.parentElement;
    const examples = [...section.querySelectorAll(".example")];
    const texts = examples.map((example) => [...example.querySelectorAll(".text")]
      .map((text) => text.textContent).join(" ").toLowerCase());
    const count = form.querySelector(".count");
    const more = section.querySelector(".more");
    let limit = STEP;

    const show = () => {
      const words = form.elements.words.value.trim().toLowerCase();
      const picked = [...form.querySelectorAll("select")].filter((select) => select.value);
      let found = 0;
      examples.forEach((example, at) => {
        const fits = picked.every((select) => example.dataset[select.name] === select.value)
          && texts[at].includes(words);
        found += fits ? 1 : 0;
        example.hidden = !fits || found > limit;
      });
      const seen = Math.min(found, limit);
      count.textContent = found === 0
        ? `None of the ${examples.length} examples fits.`
        : `Showing ${seen} of the ${found} that fit, ${examples.length} in the page.`;
      more.hidden = found <= limit;
    };
    const again = () => { limit = STEP; show(); };

    form.hidden = false;
    form.addEventListener("input", again);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(again));
    more.querySelector("button").addEventListener("click", () => {
      const next = examples.filter((example) => !example.hidden).length;
      limit += STEP;
      show();
      const first = examples.filter((example) => !example.hidden)[next];
      if (first) { first.tabIndex = -1; first.focus({ preventScroll: true }); }
    });
    show();
  };

  const startPrint = () => { // on paper nothing can be opened
    const notes = () => document.querySelectorAll("details.notes, details.folded, .alerts details");
    addEventListener("beforeprint", () => notes().forEach((one) => { one.open = true; }));
    addEventListener("afterprint", () => notes().forEach((one) => { one.open = false; }));
  };

  addEventListener("DOMContentLoaded", () => {
    startTheme();
    document.querySelectorAll("form.filter").forEach(startFilter);
    startPrint();
  });
})();
