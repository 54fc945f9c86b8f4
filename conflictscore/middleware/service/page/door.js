/** Asking for the key, where the service wants one. */

import { key } from "./api.js";

const door = /** @type {HTMLDialogElement} */ (document.getElementById("door"));
const form = /** @type {HTMLFormElement} */ (document.getElementById("door-form"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("key"));
const why = document.getElementById("door-why");
const usual = why.textContent;

/**
 * Ask for a key and keep it.
 * @returns {Promise<boolean>} Whether one was given.
 */
export function askForKey() {
  why.textContent = key.get() ? "That key is not one of this service's." : usual;
  field.value = "";
  door.returnValue = "";
  door.showModal();
  return new Promise((resolve) => {
    door.addEventListener("close", () => resolve(door.returnValue === "given"), { once: true });
  });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  // a header can carry nothing else
  const given = field.value.trim();
  if (!/^[\x21-\x7e]+$/.test(given)) {
    why.textContent = "A key has ASCII characters only, and no spaces.";
    return;
  }
  key.set(given);
  field.value = "";
  door.close("given");
});

document.getElementById("door-cancel").addEventListener("click", () => door.close(""));
