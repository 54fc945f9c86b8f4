/** Shows the passage that decided a verdict, with the text around it in the document. */

import { el, plain } from "./dom.js";

const AROUND = 220;
const MOST_SHOWN = 1200;
const MOST_SEARCHED = 2_000_000;
const LEFT_OUT = " […] ";

/**
 * The part of a document around a passage, with the passage marked. If the parts of a passage are
 * far apart, only the first part is marked. A passage that is not in the text is shown by itself.
 * Without a passage, the beginning of the text is shown.
 * @param {string} text The document.
 * @param {string | null} passage The passage in the document's own words, apart from white space
 *   and case.
 * @param {number} [around] The number of characters to show before and after the passage.
 * @param {number} [most] The maximum number of characters to show of the passage.
 * @returns {HTMLElement}
 */
export function excerpt(text, passage, around = AROUND, most = MOST_SHOWN) {
  const whole = plain(text, MOST_SEARCHED);
  const shown = plain(passage, most).replace(/ …$/, "");
  if (!shown) return quote(plain(whole, 2 * AROUND));
  const found = find(whole, shown.split(LEFT_OUT));
  if (!found) return quote(shown);
  const [start, end] = found;
  const from = Math.max(0, start - around);
  const to = Math.min(whole.length, end + around);
  return quote(
    from > 0 && "… ",
    whole.slice(from, start),
    el("mark", {}, whole.slice(start, end)),
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
 * @param {string[]} parts
 * @returns {[number, number] | null}
 */
function find(text, parts) {
  const escaped = parts.map((part) =>
    part
      .trim()
      .split(/\s+/)
      .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"))
      .join("\\s+"),
  );
  const between = `[^]{0,${MOST_SHOWN}}?`;
  const found =
    new RegExp(escaped.join(between), "iu").exec(text) ?? new RegExp(escaped[0], "iu").exec(text);
  return found && [found.index, found.index + found[0].length];
}
