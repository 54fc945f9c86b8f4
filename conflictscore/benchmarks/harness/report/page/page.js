"use strict";
(() => {
  const form = document.getElementById("filters");
  const count = document.getElementById("count");
  const kept = document.getElementById("kept");
  const cards = [...document.querySelectorAll(".card")];
  const boxes = [...form.elements.show];
  const fields = ["review", "guard", "run", "category", "method"];
  let texts = null; // the cards' texts in lower case, which the first search needs
  let typing = 0;

  function chosen() {
    const show = boxes.filter((box) => box.checked).map((box) => box.value).join(",");
    const state = { show, q: form.elements.q.value.trim() };
    for (const name of fields) state[name] = form.elements[name]?.value ?? "";
    return state;
  }

  function words(text) {
    return text.toLowerCase().split(/\s+/).filter(Boolean);
  }

  function fits(card, index, state, kinds, sought) {
    if (!kinds.includes(card.dataset.kind)) return false;
    if (fields.some((name) => state[name] && card.dataset[name] !== state[name])) return false;
    return sought.every((word) => texts[index].includes(word));
  }

  function apply() {
    const state = chosen();
    const kinds = state.show.split(",");
    const sought = words(state.q);
    if (sought.length && !texts) texts = cards.map((card) => card.textContent.toLowerCase());
    let flips = 0;
    let stayed = 0;
    cards.forEach((card, index) => {
      card.hidden = !fits(card, index, state, kinds, sought);
      if (card.hidden) return;
      if (card.dataset.kind === "kept") stayed += 1;
      else flips += 1;
    });
    if (kept) {
      kept.hidden = !kinds.includes("kept");
      kept.open = !kept.hidden;
    }
    const all = cards.filter((card) => card.dataset.kind !== "kept").length;
    const also = kinds.includes("kept") ? `, and ${stayed} of ${cards.length - all} kept` : "";
    count.textContent = `${flips} of ${all} ${all === 1 ? "flip" : "flips"} shown${also}`;
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.elements.q.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(apply, 150);
  });
  apply();
})();
