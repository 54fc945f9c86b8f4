/** Shows a finished run. */

import { claimList, source } from "./claims.js";
import { wordDiff } from "./diff.js";
import { disputeView } from "./dispute.js";
import { count, el, plain, save, told } from "./dom.js";
import { anchor, cited, rendered, renderedParts, visible } from "./markup.js";
import { STANDINGS } from "./standings.js";

const SCORES = [
  ["cs_c", "CS-C", "The share of claims that have sources on both sides. Lower is better."],
  ["cs_r", "CS-R", "The share of a claim's sources that contradict it, averaged over claims. Lower is better."],
  ["coverage", "Coverage", "The share of pairs of claim and document that have a verdict. Higher is better."],
];

const WEIGHTED = [
  ["cs_c", "CS-C, weighted", "CS-C if each side counts with the weight of its most trusted source."],
  ["cs_r", "CS-R, weighted", "CS-R if each source counts with its weight in the trust table."],
];

const AFTER =
  "The scores show how much the sources disagree about the claims of an answer. They do not show " +
  "whether the answer is right: sources may disagree just as much about a better answer.";

/**
 * The answer of a run, with its changes, claims, scores and sources.
 * @param {any} run A run as the service returns it. A run that failed has no report.
 * @returns {HTMLElement}
 */
export function answerView(run) {
  const last = run.final_report ?? run.report;
  const looked = run.changes.filter((each) => each.looks.length > 0);
  const gaps = (run.examined?.gaps ?? []).map((gap) => gap.note);
  // a note on a gap may begin with the name of the answer, such as "the first answer: "
  const others = run.notes.filter((note) => !gaps.some((gap) => note === gap || note.endsWith(`: ${gap}`)));
  const whole = run.flipped && !looked.some((each) => each.accepted && each.action !== "keep");
  return el(
    "div",
    { class: "answer" },
    run.answer && answerText(run),
    run.marked && legend(run.parts),
    told("p", `outcome ${run.status}`, outcome(run), 1000),
    verdict(run),
    ...looked.map((each) => disputeView(each, run)),
    whole && change(run),
    !run.flipped && run.final_report && run.justification && reason(run.justification, run),
    run.story?.length > 0 && stories(run.story),
    last && claimList("Claims of this answer", last, run.documents, hedgedClaims(run)),
    run.flipped && run.final_report && earlier(run),
    last && scores(run.report, run.final_report),
    run.documents.length > 0 && sources(run),
    others.length > 0 && notes(others),
    foot(run),
  );
}

/**
 * The outcome of a run in words.
 * @param {any} run
 * @returns {string}
 */
export function outcome(run) {
  if (!run.answer) return "This run has no answer.";
  const report = run.report;
  if (!report || report.cs_c === null) return "This answer was not checked.";
  const split = `The sources ${doubt(report)} of the first answer`;
  if (run.flipped && hedgedClaims(run).size) return `${split}. The answer now gives both sides.`;
  if (run.flipped) return `${split}. The sources were asked again, and the answer was changed.`;
  if (run.final_report) return `${split}. The sources were asked again, and the answer was kept.`;
  const against = `checked against ${count(run.documents.length, "document")}`;
  if (run.status === "scored") {
    return `${count(report.claims.length, "claim")}, ${against}. None has sources on both sides.`;
  }
  if (run.status === "partly-scored") {
    const share = Math.floor(100 * report.coverage);
    return `Checked in part: ${share} % of the pairs of claim and document have a verdict. Among these, no claim has sources on both sides.`;
  }
  return `The sources ${doubt(report)} of this answer (${plain(run.reason ?? run.status, 300)}).`;
}

/**
 * What the sources do to the claims of a report: they disagree about some, only contradict some,
 * say nothing about some, or do none of this.
 * @param {any} report
 */
function doubt(report) {
  const number = (is) => report.claims.filter(is).length;
  const split = number((claim) => claim.conflicting);
  if (split) return `disagree about ${count(split, "claim")}`;
  const refuted = number((claim) => claim.contradicts.length && !claim.supports.length);
  if (refuted) return `contradict ${count(refuted, "claim")}`;
  const alone = number((claim) => claim.irrelevant.length && !claim.supports.length);
  return alone ? `say nothing about ${count(alone, "claim")}` : "dispute no claim";
}

/**
 * Numbers of the claims in passages that give several answers from the sources.
 * @param {any} run
 * @returns {Set<number>}
 */
function hedgedClaims(run) {
  const parts = (run.parts ?? []).filter((part) => part.standing === "hedged");
  return new Set(parts.flatMap((part) => part.claims));
}

/**
 * A legend of the marks in the answer, with the number of parts that have each mark.
 * @param {any[]} parts
 */
function legend(parts) {
  const items = Object.entries(STANDINGS).flatMap(([standing, { name, says }]) => {
    const n = parts.filter((part) => part.standing === standing).length;
    return n ? [el("li", {}, el("span", { class: `part ${standing}`, title: says }, name), ` ${n}`)] : [];
  });
  return el("ul", { class: "legend", "aria-label": "Parts of the answer" }, ...items);
}

export const CHECKED = { fully: "Checked fully", partly: "Checked in part", no: "Not checked" };

/**
 * How far the answer was checked, and what was left out.
 * @param {any} run
 */
function verdict(run) {
  const gaps = run.examined?.gaps ?? [];
  const title = CHECKED[run.checked] ?? "Not checked: the run did not finish";
  const items = gaps.map((gap) => told("li", "", gap.note, 1000));
  return el(
    "section",
    { class: `checked ${run.checked ?? "no"}` },
    el("h3", {}, title),
    items.length > 0 && el("ul", {}, ...items),
  );
}

/** @param {any} run */
function change(run) {
  const words = (name) => (run.markup?.[name] ? visible(run.markup[name]) : plain(run[name]));
  const sides = wordDiff(words("first_answer"), words("answer"));
  return el(
    "section",
    { class: "change" },
    el("h3", {}, "What changed"),
    el(
      "div",
      { class: "sides" },
      half("before", "Before", sides.before),
      half("after", "After", sides.after),
    ),
    reason(run.justification ?? "No reason was given.", run),
    ...changedClaims(run).map(reconsidered),
  );
}

/**
 * @param {string} name
 * @param {string} title
 * @param {Node[]} text
 */
function half(name, title, text) {
  const body = el("p", { class: "text", dir: "auto" }, ...text);
  return el("section", { class: `side ${name}` }, el("h4", {}, title), body);
}

/**
 * The answer as rendered Markdown, if the service rendered it.
 * @param {any} run
 */
function answerText(run) {
  const html = run.markup?.answer;
  const marked = () => renderedParts(run.marked, run);
  const nodes = run.marked ? marked() : html ? rendered(html, run) : cited(plain(run.answer), run);
  return el("div", { class: html ? "text rendered" : "text", dir: "auto" }, ...nodes);
}

/**
 * @param {string} text
 * @param {any} run
 */
function reason(text, run) {
  const said = el("p", { dir: "auto" }, ...cited(plain(text, 4000), run));
  return el("div", { class: "reason" }, el("h4", {}, "Why"), said);
}

/**
 * The claims that the applied changes are about.
 * @param {any} run
 */
function changedClaims(run) {
  const applied = run.changes.filter((change) => change.accepted && change.action !== "keep");
  return applied.flatMap((change) => change.claims);
}

/** @param {any} claim A claim with its labels. */
function reconsidered(claim) {
  const side = (label) => claim.labels.filter((l) => l.label === label).map((l) => l.document);
  const sides = `For it: ${named(side("SUPPORTS"))}. Against it: ${named(side("CONTRADICTS"))}.`;
  return el(
    "div",
    { class: "reason" },
    el("h4", {}, "The claim that was reconsidered"),
    told("p", "", claim.claim.text, 2000),
    el("p", { class: "faint" }, sides),
  );
}

/** @param {number[]} numbers */
function named(numbers) {
  if (!numbers.length) return "no document";
  return `${numbers.length === 1 ? "document" : "documents"} ${numbers.join(", ")}`;
}

/**
 * How the documents voted: which documents gave which answer, how the judge weighed ties, and which
 * changes were refused.
 * @param {string[][]} changes Lines about each change.
 */
function stories(changes) {
  const lists = changes.map((lines) => el("ul", {}, ...lines.map((line) => told("li", "", line, 2000))));
  return el("details", { class: "story" }, el("summary", {}, "How the documents voted"), ...lists);
}

/** @param {any} run */
function earlier(run) {
  return el(
    "details",
    { class: "earlier" },
    el("summary", {}, `Claims of the first answer: ${run.report.claims.length}`),
    claimList("Claims of the first answer", run.report, run.documents),
  );
}

/**
 * @param {any} first
 * @param {any} final
 */
function scores(first, final) {
  const rows = SCORES.map((score) => row(score, first, final));
  if (first.weighted) {
    rows.push(...WEIGHTED.map((score) => row(score, first.weighted, final?.weighted)));
  }
  return el(
    "section",
    { class: "scores" },
    el("h3", {}, "Scores"),
    el("dl", {}, ...rows),
    final && el("p", { class: "faint" }, AFTER),
  );
}

/**
 * @param {string[]} score The field of a score, its name, and its meaning.
 * @param {any} first
 * @param {any} final
 */
function row([field, name, meaning], first, final) {
  return el(
    "div",
    {},
    el("dt", {}, name),
    el(
      "dd",
      {},
      el("span", { class: "value" }, value(first[field])),
      final && el("span", { class: "value" }, ` then ${value(final[field])}`),
      el("span", { class: "faint" }, meaning),
    ),
  );
}

/** @param {number | null} score */
function value(score) {
  return score === null ? "none" : score.toFixed(2);
}

/** @param {any} run */
function sources(run) {
  const items = run.documents.map((document) =>
    el(
      "li",
      { id: anchor(run, document.number), tabindex: -1 },
      source(document),
      document.text &&
        el("details", {}, el("summary", {}, "Show the text"), told("blockquote", "", document.text, 8000)),
    ),
  );
  return el(
    "details",
    { class: "sources" },
    el("summary", {}, `Sources: ${count(run.documents.length, "document")}`),
    el("ul", {}, ...items),
  );
}

/** @param {string[]} texts */
function notes(texts) {
  const items = texts.map((text) => told("li", "", text, 1000));
  return el("section", { class: "notes" }, el("h3", {}, "Notes"), el("ul", {}, ...items));
}

/** @param {any} run */
function foot(run) {
  const usage = run.usage;
  const spent =
    `${count(usage.calls, "model call")}, ${usage.cached_calls.toLocaleString("en")} from the cache, ` +
    `${count(usage.input_tokens, "token")} in, ${usage.output_tokens.toLocaleString("en")} out, ` +
    `${run.seconds.toFixed(1)} s`;
  const down = el("button", { type: "button", class: "quiet" }, "Download JSON");
  const { markup, marked, parts, story, ...record } = run;
  const json = new Blob([JSON.stringify(record, null, 2)], { type: "application/json" });
  down.addEventListener("click", () => save(`conflictscore-${run.run_id}.json`, json));
  return el(
    "footer",
    { class: "foot" },
    el("p", {}, spent),
    el(
      "p",
      { class: "row" },
      el("a", { href: `#run=${run.run_id}` }, `Run ${run.run_id}`),
      run.answer && navigator.clipboard && copyButton(run.answer),
      down,
      run.answer && el("a", { class: "to-runs", href: `runs#run=${run.run_id}` }, "Review this run"),
    ),
  );
}

/** @param {string} text */
function copyButton(text) {
  const button = el("button", { type: "button", class: "quiet", "aria-live": "polite" }, "Copy answer");
  button.addEventListener("click", async () => {
    const done = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    button.textContent = done ? "Copied" : "This browser does not allow copying";
    setTimeout(() => (button.textContent = "Copy answer"), 3000);
  });
  return button;
}
