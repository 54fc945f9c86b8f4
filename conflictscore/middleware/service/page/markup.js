/**
 * Shows Markdown that the service rendered, and links to the documents that a text cites. The
 * service escapes any HTML in a text, and this module builds only the elements that it lists.
 */

import { el, plain, webAddress } from "./dom.js";
import { STANDINGS } from "./standings.js";

const ELEMENTS = new Set(
  ("p br hr h6 ul ol li blockquote pre code em strong s table thead tbody tr th td").split(" "),
);
const CITED = /\b(?:docs?|documents?)\.?\s+\d+(?:(?:,|\s+and|,\s+and)\s+\d+)*/gi;

/** The characters that the service puts before and after a part of an answer. */
const PART_MARK = /([\u2e28\u2e29])/;
const OPENS = "\u2e28";

/**
 * Rendered Markdown as nodes.
 * @param {string} html
 * @param {any} run The run whose documents the text may cite.
 * @returns {Node[]}
 */
export function rendered(html, run) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return [...parsed.body.childNodes].flatMap((node) => copied(node, run));
}

/**
 * Rendered Markdown whose parts are marked. Each part is shown according to its standing.
 * @param {string} html
 * @param {any} run A run with parts.
 * @returns {Node[]}
 */
export function renderedParts(html, run) {
  const holder = el("div", {}, ...rendered(html, run));
  const walker = document.createTreeWalker(holder, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  let place = -1;
  let inside = false;
  for (const text of texts) {
    const pieces = text.data.split(PART_MARK).flatMap((piece) => {
      if (PART_MARK.test(piece)) {
        inside = piece === OPENS;
        if (inside) place += 1;
        return [];
      }
      if (!piece) return [];
      return inside && piece.trim() ? [partView(piece, run.parts[place])] : [new Text(piece)];
    });
    text.replaceWith(...pieces);
  }
  return [...holder.childNodes];
}

/**
 * @param {string} text
 * @param {any} part
 */
function partView(text, part) {
  const standing = STANDINGS[part?.standing];
  return standing ? el("span", { class: `part ${part.standing}`, title: standing.says }, text) : new Text(text);
}

/**
 * The visible words of rendered Markdown, with one line per block.
 * @param {string} html
 * @returns {string}
 */
export function visible(html) {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  for (const item of body.querySelectorAll("li")) item.prepend("\u2022 ");
  for (const cell of body.querySelectorAll(":is(th, td) + :is(th, td)")) cell.prepend(" | ");
  for (const block of body.querySelectorAll("p, li, tr, h6, pre")) block.append("\n");
  for (const table of body.querySelectorAll("table")) {
    table.replaceWith(...[...table.rows].map((row) => `${row.textContent.replace(/\s+/g, " ").trim()}\n`));
  }
  return plain(body.textContent.replace(/\n\s*\n/g, "\n"));
}

/**
 * @param {Node} node
 * @param {any} run
 * @returns {Node[]}
 */
function copied(node, run) {
  if (node instanceof Text) {
    return cited(imageAddress(node.nextSibling) ? node.data.slice(0, -1) : node.data, run);
  }
  if (!(node instanceof Element)) return [];
  const tag = node.localName;
  const inside = () => [...node.childNodes].flatMap((child) => copied(child, run));
  const image = imageAddress(node);
  if (image) {
    const words = node.textContent.trim() || "no description";
    return [el("span", { class: "image" }, `Image: ${words}`), shownAddress(image)];
  }
  const url = tag === "a" && webAddress(node.getAttribute("href"));
  if (url) {
    const safe = { href: url, target: "_blank", rel: "noopener noreferrer nofollow" };
    const words = node.textContent.trim();
    const link = el("a", safe, words || url);
    return !words || webAddress(words) === url ? [link] : [link, shownAddress(url)];
  }
  if (!ELEMENTS.has(tag)) return inside();
  const start = tag === "ol" && node.getAttribute("start");
  const made = el(tag, start ? { start: Number(start) || 1 } : {}, ...inside());
  const wide = tag === "table" || tag === "pre";
  return [wide ? el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": tag }, made) : made];
}

/**
 * The address of an image; null for any other node. The service renders an image as a link after an
 * exclamation mark, so that it is never loaded.
 * @param {Node | null} node
 */
function imageAddress(node) {
  const before = node?.previousSibling;
  if (!(node instanceof HTMLAnchorElement && before instanceof Text)) return null;
  const url = before.data.endsWith("!") ? webAddress(node.getAttribute("href")) : null;
  return url === webAddress(node.textContent) ? null : url; // "!" before a bare address
}

/**
 * The address of a link. It is shown after the link's words, which may name another address.
 * @param {string} url
 */
function shownAddress(url) {
  return el("span", { class: "address", dir: "ltr" }, ` (${plain(url, 300)})`);
}

/**
 * A text in which "(Docs 1, 3)" links to these documents below the answer.
 * @param {string} text
 * @param {any} run
 * @returns {Node[]}
 */
export function cited(text, run) {
  const known = new Set(run.documents.map((document) => document.number));
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(CITED)) {
    for (const number of found[0].matchAll(/\d+/g)) {
      if (!known.has(Number(number[0]))) continue;
      const place = found.index + number.index;
      nodes.push(new Text(text.slice(end, place)), reference(run, number[0]));
      end = place + number[0].length;
    }
  }
  return [...nodes, new Text(text.slice(end))];
}

/**
 * The id of a document of a run on this page.
 * @param {any} run
 * @param {number | string} number
 */
export function anchor(run, number) {
  return `doc-${run.run_id}-${number}`;
}

/**
 * @param {any} run
 * @param {string} number
 */
function reference(run, number) {
  const id = anchor(run, number);
  const link = el("a", { href: `#${id}`, class: "cite", "aria-label": `document ${number}` }, number);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const document = link.ownerDocument.getElementById(id);
    for (let up = document; up; up = up.parentElement) {
      if (up instanceof HTMLDetailsElement) up.open = true;
    }
    document?.focus();
    document?.scrollIntoView({ block: "center" });
  });
  return link;
}
