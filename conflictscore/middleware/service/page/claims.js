/** Shows the claims of an answer, each with the sources that support and contradict it. */

import { count, el, origin, plain, sourceLink, told } from "./dom.js";
import { excerpt } from "./excerpt.js";

const MOST_CLAIM = 2000;
const MOST_REASONING = 4000;

/** The labels of claims, by CSS class. */
const STANDINGS = {
  conflict: "Sources disagree",
  hedged: "Both sides shown",
  supported: "Supported",
  contradicted: "Contradicted",
  uncovered: "Not covered",
  unlabelled: "Not checked",
};

/**
 * @param {any} claim A claim of a report.
 * @returns {keyof typeof STANDINGS}
 */
function standing(claim) {
  if (claim.conflicting) return "conflict";
  if (claim.supports.length) return "supported";
  if (claim.contradicts.length) return "contradicted";
  return claim.irrelevant.length ? "uncovered" : "unlabelled";
}

/**
 * A list of the claims of a report. Each claim can be opened to show its evidence.
 * @param {string} title
 * @param {any} report
 * @param {any[]} documents
 * @param {Set<number>} [hedged] Numbers of the claims that say that the sources disagree.
 * @returns {HTMLElement}
 */
export function claimList(title, report, documents, hedged = new Set()) {
  const known = new Map(documents.map((document) => [document.number, document]));
  const items = report.claims.map((claim, place) =>
    el("li", {}, claimView(claim, known, hedged.has(place + 1))), // claims are numbered from 1
  );
  return el(
    "section",
    { class: "claims" },
    el("h3", {}, title),
    report.error && told("p", "notice", `The answer could not be checked: ${report.error}`, 1000),
    items.length
      ? el("ol", {}, ...items)
      : !report.error && el("p", { class: "faint" }, "The answer makes no claim that could be checked."),
  );
}

/**
 * @param {any} claim
 * @param {Map<number, any>} known
 * @param {boolean} isHedged
 */
function claimView(claim, known, isHedged) {
  const kind = isHedged ? "hedged" : standing(claim);
  const inSide = (label) => claim.labels.filter((pair) => pair.label === label);
  return el(
    "details",
    { class: `claim ${kind}` },
    el(
      "summary",
      {},
      told("span", "claim-text", claim.text, MOST_CLAIM),
      el(
        "span",
        { class: "verdict" },
        el("span", { class: "chip" }, STANDINGS[kind]),
        el("span", { class: "tally" }, isHedged ? `this claim reports the dispute: ${tally(claim)}` : tally(claim)),
      ),
    ),
    el(
      "div",
      { class: "sides" },
      side("supports", "Supports", inSide("SUPPORTS"), claim.independent_supports, known),
      side("contradicts", "Contradicts", inSide("CONTRADICTS"), claim.independent_contradicts, known),
    ),
    ...others(claim, inSide("UNLABELLED")),
  );
}

/** @param {any} claim */
function tally(claim) {
  if (standing(claim) === "uncovered") return "no document mentions it";
  const parts = [`${claim.supports.length} for`, `${claim.contradicts.length} against`];
  if (claim.unlabelled.length) parts.push(`${claim.unlabelled.length} without a verdict`);
  return parts.join(", ");
}

/**
 * @param {string} name
 * @param {string} title
 * @param {any[]} pairs
 * @param {number} independent The number of these documents that are not copies of each other.
 * @param {Map<number, any>} known
 */
function side(name, title, pairs, independent, known) {
  const hint = independent < pairs.length ? `, ${independent} independent` : "";
  return el(
    "section",
    { class: `side ${name}` },
    el("h4", {}, `${title}: ${pairs.length ? count(pairs.length, "document") : "none"}${hint}`),
    pairs.length > 0 && el("ul", {}, ...pairs.map((pair) => el("li", {}, evidence(pair, known)))),
  );
}

/**
 * @param {any} pair A document's label.
 * @param {Map<number, any>} known
 */
function evidence(pair, known) {
  const document = known.get(pair.document) ?? { number: pair.document };
  const facts = [
    pair.score !== null && `the judge is ${Math.round(pair.score * 100)} % sure`,
    pair.snippet_found === false &&
      "the judge's quote is not in the document, so the passage nearest to the claim is shown",
    pair.document_cut && "the judge saw only parts of the document",
  ];
  return el(
    "article",
    { class: "evidence" },
    source(document),
    excerpt(document.text ?? "", pair.passage),
    pair.reasoning && told("p", "reasoning", pair.reasoning, MOST_REASONING),
    ...facts.filter(Boolean).map((fact) => el("p", { class: "faint" }, `Note: ${fact}.`)),
  );
}

/**
 * A line that names a document: its number, title, origin and date.
 * @param {any} document
 * @returns {HTMLElement}
 */
export function source(document) {
  const place = origin(document.url);
  const name = plain(document.title, 300) || place || `Document ${document.number}`;
  const details = [
    name !== place && place,
    plain(document.metadata?.date, 40),
    plain(document.metadata?.kind ?? document.metadata?.type, 40),
    document.duplicate_of && `nearly the same text as document ${document.duplicate_of}`,
  ];
  return el(
    "p",
    { class: "source" },
    el("span", { class: "number" }, `${document.number}`),
    sourceLink(document.url, name),
    ...details.filter(Boolean).map((detail) => told("span", "detail", detail)),
  );
}

/**
 * The documents that neither support nor contradict a claim.
 * @param {any} claim
 * @param {any[]} failed The pairs without a verdict.
 */
function others(claim, failed) {
  const neither = claim.irrelevant;
  return [
    neither.length > 0 &&
      el(
        "p",
        { class: "faint others" },
        `Neither for nor against: ${neither.length === 1 ? "document" : "documents"} ${neither.join(", ")}.`,
      ),
    failed.length > 0 &&
      el(
        "ul",
        { class: "failed" },
        ...failed.map((pair) =>
          told("li", "", `Document ${pair.document} has no verdict: ${pair.error}`, 600),
        ),
      ),
  ];
}
