/** Asks the reader for a key if the service requires one. */

import { Refusal, key } from "./api.js";
import { el } from "./dom.js";

const USUAL = "The operator of the service can give you a key. This tab keeps it until you close the tab.";

const why = el("p", { id: "door-why" }, USUAL);
const field = /** @type {HTMLInputElement} */ (
  el("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true })
);
const cancel = el("button", { type: "button", class: "quiet" }, "Cancel");
const form = el(
  "form",
  {},
  el("h2", { id: "door-title" }, "This service asks for a key"),
  why,
  el("label", { for: "key" }, "Key"),
  field,
  el("p", { class: "row" }, el("button", { type: "submit" }, "Use this key"), cancel),
);
const door = /** @type {HTMLDialogElement} */ (
  el("dialog", { id: "door", "aria-labelledby": "door-title" }, form)
);
document.body.append(door);

/** Whether the dialog that asks for the key is open. */
export const isAsking = () => door.open;

/**
 * Run a task that needs the key; ask for the key if it is missing or wrong.
 * @template T
 * @param {() => Promise<T>} task
 * @returns {Promise<T>}
 */
export async function withKey(task) {
  for (;;) {
    try {
      return await task();
    } catch (error) {
      const locked = error instanceof Refusal && error.code === "invalid_api_key";
      if (!locked || !(await askForKey())) throw error;
    }
  }
}

/**
 * Ask for a key and keep it.
 * @returns {Promise<boolean>} Whether the reader gave a key.
 */
function askForKey() {
  why.textContent = key.get() ? "This service does not know that key." : USUAL;
  field.value = "";
  door.returnValue = "";
  door.showModal();
  return new Promise((resolve) => {
    door.addEventListener("close", () => resolve(door.returnValue === "given"), { once: true });
  });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  // an HTTP header can only carry these characters
  const given = field.value.trim();
  if (!/^[\x21-\x7e]+$/.test(given)) {
    why.textContent = "A key has only ASCII characters and no spaces.";
    return;
  }
  key.set(given);
  field.value = "";
  door.close("given");
});

cancel.addEventListener("click", () => door.close(""));
