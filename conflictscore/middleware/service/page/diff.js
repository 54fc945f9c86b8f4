/** Compares two texts word by word. */

import { el } from "./dom.js";

const MOST_CELLS = 4_000_000;

/**
 * Both texts, with <del> around words that only the first has, and <ins> around words that only the
 * second has. Texts that are too long to compare stay unmarked.
 * @param {string} before
 * @param {string} after
 * @returns {{before: Node[], after: Node[]}}
 */
export function wordDiff(before, after) {
  const a = tokens(before);
  const b = tokens(after);
  if (a.length * b.length > MOST_CELLS) {
    return { before: [new Text(before)], after: [new Text(after)] };
  }
  const kept = common(a, b);
  return {
    before: marked(a, new Set(kept.map(([i]) => i)), "del"),
    after: marked(b, new Set(kept.map(([, j]) => j)), "ins"),
  };
}

/** @param {string} text @returns {string[]} Words, each with the space after it. */
function tokens(text) {
  return text.match(/\S+\s*/g) ?? [];
}

/**
 * The longest common subsequence, as pairs of positions.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {[number, number][]}
 */
function common(a, b) {
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  const same = (i, j) => a[i].trim() === b[j].trim();
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = same(i, j)
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (same(i, j)) pairs.push([i++, j++]);
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i++;
    else j++;
  }
  return pairs;
}

/**
 * @param {string[]} words
 * @param {Set<number>} kept
 * @param {"ins" | "del"} tag
 * @returns {Node[]}
 */
function marked(words, kept, tag) {
  const nodes = [];
  for (let start = 0; start < words.length; ) {
    let end = start;
    while (end < words.length && kept.has(end) === kept.has(start)) end++;
    const text = words.slice(start, end).join("");
    if (kept.has(start)) nodes.push(new Text(text));
    else nodes.push(el(tag, {}, text.trimEnd()), new Text(text.slice(text.trimEnd().length)));
    start = end;
  }
  return nodes;
}
