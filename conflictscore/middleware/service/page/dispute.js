/** Shows a dispute: what each side says, what settled it, and the change to the answer. */

import { wordDiff } from "./diff.js";
import { source } from "./claims.js";
import { count, el, plain, told } from "./dom.js";
import { excerpt } from "./excerpt.js";

const MOST_STATEMENT = 1000;
const AROUND_QUOTE = 40;
const MOST_QUOTE = 320;

/** What was done to a passage, by the action of the change. */
const DONE = {
  replace: "The answer was changed",
  hedge: "The answer now gives both sides",
  explain: "The answer now says that the sources are about different things",
  remove: "The passage was removed",
  keep: "The answer was kept",
};

/**
 * One disputed passage of an answer, about which the documents were asked again.
 * @param {any} change A change with its looks. In a look, the documents vote on one claim.
 * @param {any} run
 * @returns {HTMLElement}
 */
export function disputeView(change, run) {
  const refused = !change.accepted && change.note;
  return el(
    "section",
    { class: "dispute" },
    el("h3", {}, "Where the sources disagree"),
    ...change.looks.map((look) => lookView(look, run)),
    changed(change),
    refused && told("p", "faint", `The change was refused: ${change.note}`, MOST_STATEMENT),
  );
}

/**
 * What was done to a passage, with its old and new words in one text.
 * @param {any} change
 */
function changed(change) {
  const applied = change.accepted && change.action !== "keep" && change.before !== change.after;
  if (!applied) return el("p", { class: "settled" }, `${DONE.keep}.`);
  // the answer already marks the new text, so only a replacement shows it here as well
  const isSwap = change.action === "replace" && change.after;
  const { before, after } = wordDiff(plain(change.before), plain(change.after));
  const line = isSwap ? merged(before, after) : [el("del", {}, plain(change.before))];
  return el(
    "div",
    { class: "done" },
    el("h4", {}, `${DONE[change.action] ?? DONE.replace}${isSwap ? "" : ". Before, it said"}`),
    el("p", { class: "text", dir: "auto" }, ...line),
  );
}

/**
 * Both texts as one. Common words appear once, and removed words come before their replacements.
 * @param {Node[]} before
 * @param {Node[]} after
 * @returns {Node[]}
 */
function merged(before, after) {
  const nodes = [];
  const gone = before.filter((node) => node instanceof Element);
  for (const node of after) {
    if (node instanceof Element && gone.length) nodes.push(gone.shift(), new Text(" "));
    nodes.push(node);
  }
  return nodes;
}

/**
 * @param {any} look
 * @param {any} run
 */
function lookView(look, run) {
  const known = new Map(run.documents.map((document) => [document.number, document]));
  const sides = look.candidates.map((side, place) => sideView(side, place, look, known));
  const dropped = look.dropped.map((reply) =>
    told("li", "", `Document ${reply.document} has no vote: ${reply.why}`, MOST_STATEMENT),
  );
  return el(
    "div",
    { class: "look" },
    told("p", "asked", look.question, MOST_STATEMENT),
    el("div", { class: "sides" }, ...sides),
    look.why && el("p", { class: "settled", dir: "auto" }, el("b", {}, "Outcome: "), plain(look.why, 2000)),
    dropped.length > 0 && el("ul", { class: "dropped" }, ...dropped),
  );
}

/**
 * One side of a dispute, with the documents that voted for it.
 * @param {any} side
 * @param {number} place 0 for the claim of the answer.
 * @param {any} look
 * @param {Map<number, any>} known
 */
function sideView(side, place, look, known) {
  const votes = side.votes.length ? side.votes : side.given_by;
  const won = look.decision === "replace" && look.rival === place;
  const items = votes.map((number) => el("li", {}, voterView(number, side, look, known)));
  return el(
    "section",
    { class: `side ${won ? "won" : ""}` },
    el("h4", {}, place === 0 ? "The answer said" : "Other sources say"),
    told("p", "value", side.evidence.claim.text, MOST_STATEMENT),
    el("p", { class: "tally" }, tally(side)),
    items.length > 0 && el("ul", {}, ...items),
  );
}

/** @param {any} side */
function tally(side) {
  if (!side.votes.length) return "no vote";
  const same = side.witnesses < side.votes.length ? `, ${count(side.witnesses, "independent document")}` : "";
  return `${count(side.votes.length, "vote")}${same}`;
}

/**
 * A document with the passage that decided its vote, and a note if its label differs from its vote.
 * @param {number} number
 * @param {any} side
 * @param {any} look
 * @param {Map<number, any>} known
 */
function voterView(number, side, look, known) {
  const document = known.get(number) ?? { number };
  const pair = side.evidence.labels.find((label) => label.document === number);
  const other = otherLabel(number, side, look);
  return el(
    "article",
    { class: "evidence" },
    source(document),
    pair?.passage && excerpt(document.text ?? "", pair.passage, AROUND_QUOTE, MOST_QUOTE),
    other && told("p", "differs", other, MOST_STATEMENT),
  );
}

/**
 * A note if a document's labels differ from its vote; null if they agree.
 * @param {number} number
 * @param {any} side
 * @param {any} look
 * @returns {string | null}
 */
function otherLabel(number, side, look) {
  const against = look.candidates.find(
    (rival) =>
      rival !== side &&
      rival.evidence.labels.some((label) => label.document === number && label.label === "SUPPORTS"),
  );
  if (against) return `According to its label, it also supports “${plain(against.evidence.claim.text, 200).replace(/\.$/, "")}”.`;
  const own = side.evidence.labels.find((label) => label.document === number);
  if (!own || own.label === "SUPPORTS") return null;
  const labels = { CONTRADICTS: "contradicts this", IRRELEVANT: "does not mention this", UNLABELLED: "has no verdict on this" };
  return `This answer was read from this document alone. According to its label, it ${labels[own.label]}.`;
}
