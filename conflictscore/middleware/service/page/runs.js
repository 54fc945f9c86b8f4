/** Shows the runs of the service: a list with filters, or one run with its evidence and reviews. */

import { Refusal, fileOf, finished, key, read, reviewsOf } from "./api.js";
import { CHECKED, answerView } from "./answer.js";
import { withKey } from "./door.js";
import { count, el, plain, save, told } from "./dom.js";
import { reviewForm } from "./review.js";

const FILTERS = ["status", "changed", "disputed", "review", "reviewer", "q"];
const WHEN = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "short" });

const byId = (id) => document.getElementById(id);
const filters = /** @type {HTMLFormElement} */ (byId("filters"));

/** The number of the latest request. Replies to earlier requests are not shown. */
let latest = 0;
let typing = 0;

/** The filters, the page and the run that are named in the address. */
function addressed() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** @param {Record<string, string>} state */
function addressOf(state) {
  const named = Object.entries(state).filter(([, value]) => value);
  return `#${new URLSearchParams(named)}`;
}

/** The filters that are named in the address. */
function sought() {
  const state = addressed();
  return Object.fromEntries(FILTERS.filter((name) => state[name]).map((name) => [name, state[name]]));
}

async function show() {
  const mine = ++latest;
  const { run } = addressed();
  byId("all").hidden = Boolean(run);
  byId("one").hidden = !run;
  try {
    await withKey(() => (run ? showRun(run, mine) : showList(mine)));
  } catch (error) {
    const known = error instanceof Refusal;
    if (!known) console.error(error);
    if (mine === latest) trouble(known ? error.message : "An error occurred in this page.", run);
  }
  byId("forget").hidden = !key.get();
}

/**
 * @param {string} message
 * @param {string | undefined} run
 */
function trouble(message, run) {
  const again = el("button", { type: "button" }, "Try again");
  again.addEventListener("click", show);
  const box = el("div", { class: "trouble", role: "alert" }, told("p", "", message, 1000), again);
  if (run) byId("one").replaceChildren(back(), box);
  else byId("list").replaceChildren(el("li", {}, box));
}

/** @param {number} mine */
async function showList(mine) {
  const { page = "1" } = addressed();
  const [found, totals] = await Promise.all([
    read("v1/runs", { ...sought(), page }),
    read("v1/reviews"),
  ]);
  if (mine !== latest) return;
  offerReviewers(totals.reviewers);
  for (const name of FILTERS) filters.elements[name].value = addressed()[name] ?? "";
  showTotals(totals);
  byId("list").replaceChildren(...found.data.map((run) => el("li", {}, row(run))));
  const narrowed = Object.keys(sought()).length > 0;
  byId("count").textContent = found.total
    ? count(found.total, narrowed ? "matching run" : "run")
    : narrowed
      ? "No run matches."
      : "There are no runs yet. Ask a question on the chat page, or through the API.";
  byId("pager").hidden = found.pages < 2;
  byId("page").textContent = `Page ${found.page} of ${found.pages}`;
  byId("newer").disabled = found.page < 2;
  byId("older").disabled = !found.has_more;
  byId("export").hidden = !found.total;
}

/** @param {any} run A run of the list. */
function row(run) {
  const reviews = run.reviewers.length;
  const chips = [
    [run.hedged ? "both sides shown" : run.status, run.disputed ? "both" : ""],
    [(CHECKED[run.checked] ?? CHECKED.no).toLowerCase(), run.checked || "no"],
    run.flipped && !run.hedged && ["changed", "changed"],
    reviews > 0 && [count(reviews, "review"), "reviewed"],
  ];
  return el(
    "article",
    { class: "run" },
    el(
      "h3",
      {},
      el("a", { href: addressOf({ ...addressed(), run: run.run_id }), dir: "auto" }, plain(run.question) || "(no question)"),
    ),
    told("p", "begin", run.answer || "(no answer)", 200),
    el(
      "p",
      { class: "chips" },
      ...chips.filter(Boolean).map(([text, tone]) => el("span", { class: `chip ${tone}` }, text)),
      el("time", { class: "faint", datetime: new Date(run.created * 1000).toISOString() }, WHEN.format(run.created * 1000)),
    ),
  );
}

/** @param {string[]} names */
function offerReviewers(names) {
  const select = filters.elements.reviewer;
  const wanted = addressed().reviewer;
  const all = [...new Set(wanted ? [...names, wanted] : names)];
  const option = (name) => el("option", { value: name }, plain(name, 100));
  select.replaceChildren(el("option", { value: "" }, "anybody"), ...all.map(option));
}

/** @param {any} totals */
function showTotals(totals) {
  const [flips, others] = totals.tables;
  byId("totals").hidden = totals.runs === 0;
  byId("totals").querySelector("summary").textContent =
    `Reviewed: ${flips.reviewed} of ${count(flips.total, "changed answer")}, ` +
    `${others.reviewed} of ${count(others.total, "unchanged answer")}`;
  byId("totals").querySelector("div").replaceChildren(
    ...[tableOf("Changed answers", flips), tableOf("Unchanged answers", others)].flat(),
    el(
      "p",
      { class: "faint" },
      totals.kept_in === "memory"
        ? "Runs and reviews are lost when the service stops. Start it with --runs-file to keep them."
        : `Reviews are stored in a ${totals.kept_in} together with the runs, and are never removed.`,
    ),
  );
}

/**
 * @param {string} title
 * @param {any} table
 */
function tableOf(title, table) {
  const verdicts = Object.entries(table.verdicts);
  if (!verdicts.length) return [];
  return [
    el("h3", {}, title),
    el("p", {}, verdicts.map(([verdict, n]) => `${n} ${verdict}`).join(", ")),
    table.alpha !== null &&
      el("p", {}, `Agreement of reviewers: Krippendorff's alpha ${table.alpha.toFixed(2)} (1 is full agreement, 0 is chance)`),
  ].filter(Boolean);
}

/**
 * @param {string} id
 * @param {number} mine
 */
async function showRun(id, mine) {
  const [run, reviews] = await Promise.all([finished(id, new AbortController().signal), reviewsOf(id)]);
  if (mine !== latest) return;
  const title = told("h2", "question", run.asked ?? run.question ?? "(no question)");
  title.tabIndex = -1;
  const form = run.question && run.answer && reviewForm(run, reviews, saved);
  byId("one").replaceChildren(back(), title, answerView(run), ...(form ? [form] : []));
  title.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function back() {
  const { run, ...rest } = addressed();
  return el("p", {}, el("a", { href: addressOf(rest) }, "All runs"));
}

/**
 * After a review, show the run again, or the next run of the list that the reviewer has not reviewed.
 * @param {string} reviewer
 * @param {boolean} next
 */
async function saved(reviewer, next) {
  say("The review was saved.");
  if (!next) return show();
  const { run, ...rest } = addressed();
  const open = await read("v1/runs", { ...sought(), review: "open", reviewer });
  const other = open.data.find((one) => one.run_id !== run && one.question && one.answer);
  if (!other) say("The review was saved. You have reviewed all other runs of this list.");
  location.hash = addressOf(other ? { ...rest, run: other.run_id } : rest);
}

/** @param {string} text The text for screen readers. */
function say(text) {
  byId("said").textContent = text;
}

function narrow() {
  const chosen = FILTERS.map((name) => [name, filters.elements[name].value.trim()]);
  history.replaceState(null, "", addressOf(Object.fromEntries(chosen)));
  show();
}

/** @param {number} by */
function turn(by) {
  const state = addressed();
  location.hash = addressOf({ ...state, page: String(Number(state.page ?? 1) + by) });
}

filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("change", narrow);
filters.addEventListener("reset", () => setTimeout(narrow));
filters.elements.q.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(narrow, 300);
});
byId("newer").addEventListener("click", () => turn(-1));
byId("older").addEventListener("click", () => turn(1));
byId("forget").addEventListener("click", () => {
  key.forget();
  location.hash = "";
  location.reload();
});
byId("export").addEventListener("submit", async (event) => {
  event.preventDefault();
  const to = byId("export").elements.to.value;
  try {
    const file = await withKey(() => fileOf("v1/reviews/export", { ...sought(), to }));
    save(file.name, file.content);
    say(`${file.name} was exported.`);
  } catch (error) {
    byId("count").textContent =
      error instanceof Refusal ? plain(error.message, 500) : "An error occurred in this page.";
  }
});
addEventListener("hashchange", show);
show();
