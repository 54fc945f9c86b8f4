/** What the page shows first: the model, where it searches, and the questions of this tab. */

import { key, read } from "./api.js";
import { el, plain, told } from "./dom.js";

const HISTORY = "conflictscore.history";
const MOST_KEPT = 30;
const MODES = {
  correct: "If sources disagree, they are asked again, and the answer is corrected",
  annotate: "If sources disagree, the answer says so",
};

const byId = (id) => document.getElementById(id);

/** Name the model and the sources. Without a key, the service does not reveal them. */
export async function welcome() {
  const about = await read("v1/about").catch(() => null);
  if (!about) return;
  const judge = about.judge === about.model ? about.labeler : `${about.judge}, ${about.labeler}`;
  const facts = { Model: about.model, Judge: judge, Sources: about.sources, Mode: MODES[about.mode] };
  const rows = Object.entries(facts).filter(([, value]) => value);
  byId("about").replaceChildren(
    ...rows.map(([name, value]) => el("div", {}, el("dt", {}, name), told("dd", "", value, 400))),
  );
  byId("about").hidden = false;
  document.body.classList.toggle("has-runs", about.runs_page);
}

/**
 * Add a question to the history of this tab.
 * @param {any} run
 */
export function remember(run) {
  const others = kept().filter((one) => one.id !== run.run_id);
  const question = plain(run.asked ?? run.question, 200);
  const all = [{ id: run.run_id, question }, ...others].slice(0, MOST_KEPT);
  sessionStorage.setItem(HISTORY, JSON.stringify(all));
  showHistory();
}

/** Forget the key and the questions. */
export function forget() {
  key.forget();
  sessionStorage.removeItem(HISTORY);
  showHistory();
}

/** List the questions of this tab, each as a link to its run. */
export function showHistory() {
  const menu = /** @type {HTMLDetailsElement} */ (byId("history"));
  const known = kept();
  menu.hidden = known.length === 0;
  menu.querySelector("ol").replaceChildren(
    ...known.map(({ id, question }) => {
      const link = el("a", { href: `#run=${encodeURIComponent(id)}`, dir: "auto" }, question);
      link.addEventListener("click", () => (menu.open = false));
      return el("li", {}, link);
    }),
  );
}

/** @returns {{id: string, question: string}[]} */
function kept() {
  return JSON.parse(sessionStorage.getItem(HISTORY) ?? "[]");
}
