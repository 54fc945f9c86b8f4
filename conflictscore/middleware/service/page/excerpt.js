/** Shows the passage that decided a verdict, with the text around it in the document. */

import { el, plain } from "./dom.js";

const AROUND = 220;
const MOST_SHOWN = 1200;
const MOST_SEARCHED = 2_000_000;
/** How many places of the first part of a passage are tried before it is shown alone. */
const MOST_TRIES = 100;
const LEFT_OUT = " […] ";

/**
 * The part of a document around a passage, with the passage marked. If the parts of a passage are
 * far apart, only the first part is marked. A passage that is not in the text is shown alone.
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
 * The start and end of a passage in a text, or of its first part if the parts are far apart.
 *
 * The parts are searched one after the other, in time linear in the length of the text: a single
 * pattern for all parts could take hours in a text that a stranger wrote for this purpose.
 * @param {string} text
 * @param {string[]} parts
 * @returns {[number, number] | null}
 */
function find(text, parts) {
  const [first, ...others] = parts.filter((part) => part.trim()).map(pattern);
  if (!first) return null;
  let alone = null;
  let tries = 0;
  for (const match of text.matchAll(first)) {
    let end = match.index + match[0].length;
    alone ??= [match.index, end];
    const follow = others.every((other) => {
      const next = text.slice(end, end + 2 * MOST_SHOWN).search(other);
      if (next < 0) return false;
      end += next + text.slice(end + next, end + next + 2 * MOST_SHOWN).match(other)[0].length;
      return true;
    });
    if (follow) return [match.index, end];
    if (++tries >= MOST_TRIES) break;
  }
  return alone;
}

/**
 * A pattern for a part of a passage; white space and case do not matter.
 * @param {string} part
 */
function pattern(part) {
  const words = part.trim().split(/\s+/);
  const escaped = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return new RegExp(escaped.join("\\s+"), "giu");
}
