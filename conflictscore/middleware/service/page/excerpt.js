/** The passage that decided a verdict, in its place in the document. */

import { el, plain } from "./dom.js";

const AROUND = 220;
const MOST_QUOTED = 1200;
const MOST_SEARCHED = 2_000_000;

/**
 * The part of a document around a passage, with the passage marked; the passage alone, as a
 * quotation, where it is not in the document; the document's beginning where there is no passage.
 * @param {string} text The document.
 * @param {string | null} passage White space and case make no difference.
 * @returns {HTMLElement}
 */
export function excerpt(text, passage) {
  const whole = plain(text, MOST_SEARCHED);
  const quoted = plain(passage, MOST_QUOTED);
  if (!quoted) return quote(plain(whole, 2 * AROUND));
  const found = find(whole, plain(passage));
  if (!found) return quote(el("q", {}, quoted));
  const [start, end] = found;
  const from = Math.max(0, start - AROUND);
  const to = Math.min(whole.length, end + AROUND);
  return quote(
    from > 0 && "… ",
    whole.slice(from, start),
    el("mark", {}, plain(whole.slice(start, end), MOST_QUOTED)),
    whole.slice(end, to),
    to < whole.length && " …",
  );
}

/** @param {...(Node | string | false)} parts */
function quote(...parts) {
  return el("blockquote", { dir: "auto" }, ...parts);
}

/**
 * @param {string} text
 * @param {string} passage
 * @returns {[number, number] | null}
 */
function find(text, passage) {
  const words = passage.split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const found = new RegExp(words.join("\\s+"), "iu").exec(text);
  return found && [found.index, found.index + found[0].length];
}
