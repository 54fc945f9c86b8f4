/**
 * Builds elements. Text that a model, a document or a person wrote only becomes text nodes. Only
 * markup.js parses markup, and rebuilds a few elements from it.
 */

/** @typedef {Node | string | null | undefined | false} Child */

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const SHOWN_CHARS = 20000;

/**
 * Build an element.
 * @param {string} tag
 * @param {Record<string, string | number | boolean>} [attributes] True sets an empty value, and
 *   false leaves the attribute out.
 * @param {...Child} children Strings become text.
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child || child === ""));
  return element;
}

/**
 * Untrusted text without control characters and direction overrides; a long text is cut.
 * @param {unknown} value
 * @param {number} [most] The maximum number of characters.
 * @returns {string}
 */
export function plain(value, most = SHOWN_CHARS) {
  const text = String(value ?? "").replace(/\r\n?/g, "\n").replace(CONTROLS, " ").trim();
  return text.length > most ? `${text.slice(0, most).trimEnd()} …` : text;
}

/**
 * An element with untrusted text, in the text's own direction.
 * @param {string} tag
 * @param {string} name The class of the element.
 * @param {unknown} value
 * @param {number} [most]
 */
export function told(tag, name, value, most) {
  return el(tag, { class: name, dir: "auto" }, plain(value, most));
}

/**
 * A link to a source, or only its name if its address is not a web address.
 * @param {unknown} address
 * @param {string} name
 */
export function sourceLink(address, name) {
  const url = webAddress(address);
  if (!url) return told("span", "source-name", name, 300);
  const safe = { href: url, target: "_blank", rel: "noopener noreferrer nofollow", dir: "auto" };
  return el("a", safe, plain(name, 300));
}

/**
 * A short name for where a source comes from: the host of a web address, or any other address.
 * @param {unknown} address
 */
export function origin(address) {
  const url = webAddress(address);
  return url ? new URL(url).host : plain(address, 120);
}

/**
 * The address if it is a web address; otherwise null.
 * @param {unknown} address
 * @returns {string | null}
 */
export function webAddress(address) {
  if (typeof address !== "string" || !URL.canParse(address)) return null;
  const url = new URL(address);
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
}

/**
 * A number with a noun in the singular or plural.
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

/**
 * Let the reader save a file.
 * @param {string} name
 * @param {Blob} content
 */
export function save(name, content) {
  const address = URL.createObjectURL(content);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address));
}
