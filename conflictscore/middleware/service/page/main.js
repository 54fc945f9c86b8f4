/** Runs the conversation: asks, follows up, stops, and opens a run by its address. */

import { Refusal, finished, key, run } from "./api.js";
import { isAsking, withKey } from "./door.js";
import { Exchange } from "./exchange.js";
import { forget, remember, showHistory, welcome } from "./welcome.js";

const MOST_TURNS = 20;
/** The temperature of an alternative answer. At 0 a model repeats itself; some models allow only 1. */
const ANOTHER = 1;

const byId = (id) => document.getElementById(id);
const conversation = byId("conversation");
const question = /** @type {HTMLTextAreaElement} */ (byId("question"));

/** @type {AbortController | null} The work in progress, if any. */
let current = null;
/** @type {{role: string, content: string}[]} */
let turns = [];

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !isAsking()) current?.abort();
});
byId("stop").addEventListener("click", () => current?.abort());
byId("fresh").addEventListener("click", () => {
  empty();
  window.history.replaceState(null, "", window.location.pathname);
  question.focus();
});
byId("forget").addEventListener("click", () => {
  forget();
  say("The key was forgotten.");
  show();
  question.focus();
});
byId("latest").addEventListener("click", (event) => {
  event.preventDefault();
  const headings = conversation.querySelectorAll(".exchange > h2");
  headings[headings.length - 1]?.focus();
});
window.addEventListener("hashchange", openAddressed);

function submit() {
  const text = question.value.trim();
  if (!text || current) return;
  question.value = "";
  ask(text);
}

/**
 * @param {string} text
 * @param {string} [earlier] The answer to which the reader wants an alternative.
 */
function ask(text, earlier = "") {
  const before = turns;
  const exchange = place(
    new Exchange(text, "Looking for documents", {
      retry: () => replace(exchange, () => ask(text, earlier)),
      ask: (...asked) => rewind(exchange, before, () => ask(...asked)),
    }),
  );
  const asked = { question: text, history: before, ...(earlier && { temperature: ANOTHER }) };
  work(exchange, async (signal) => {
    for await (const { event, data } of run(asked, signal)) {
      signal.throwIfAborted();
      if (event !== "run") exchange.hear(event, data);
      else close(exchange, data, true, earlier);
    }
  });
}

/** Show the run that is named in the page's address, unless the page already shows it. */
function openAddressed() {
  const id = /^#run=([\w-]{1,64})$/.exec(window.location.hash)?.[1];
  if (!id) return;
  const shown = document.getElementById(`run=${id}`);
  if (shown) {
    shown.querySelector("h2").focus();
    return;
  }
  empty();
  open(id);
}

/** @param {string} id */
function open(id) {
  const exchange = place(
    new Exchange("", "Fetching the run", {
      retry: () => replace(exchange, () => open(id)),
      ask: (...asked) => rewind(exchange, [], () => ask(...asked)),
    }),
  );
  work(exchange, async (signal) => {
    const found = await finished(id, signal);
    signal.throwIfAborted();
    close(exchange, found, false);
  });
}

/**
 * Run a task for an exchange until it ends, fails or is stopped. Ask for the key if it is missing.
 * @param {Exchange} exchange
 * @param {(signal: AbortSignal) => Promise<void>} task
 */
async function work(exchange, task) {
  const mine = new AbortController();
  current = mine;
  show();
  const locked = !key.get();
  try {
    await withKey(() => task(mine.signal));
    if (locked && key.get()) welcome();
  } catch (error) {
    if (mine.signal.aborted) say(exchange.stop());
    else say(exchange.fail(error));
    if (!(error instanceof Refusal) && !mine.signal.aborted) console.error(error);
  }
  if (current === mine) current = null;
  show();
}

/**
 * @param {Exchange} exchange
 * @param {any} found
 * @param {boolean} watched
 * @param {string} [earlier] The answer to which the reader wanted an alternative.
 */
function close(exchange, found, watched, earlier) {
  say(exchange.finish(found, watched, earlier));
  remember(found);
  if (!found.answer) return;
  const asked = found.asked ?? found.question;
  const both = [{ role: "user", content: asked }, { role: "assistant", content: found.answer }];
  turns = [...turns, ...both].slice(-MOST_TURNS);
  window.history.replaceState(null, "", `#run=${found.run_id}`);
}

/** @param {Exchange} exchange */
function place(exchange) {
  byId("welcome").hidden = true;
  conversation.append(exchange.element);
  exchange.element.scrollIntoView({ block: "start" });
  return exchange;
}

/**
 * @param {Exchange} exchange
 * @param {() => void} again
 */
function replace(exchange, again) {
  if (current) return;
  exchange.element.remove();
  again();
}

/**
 * Remove an exchange and all later ones from the conversation, and ask again from there.
 * @param {Exchange} exchange
 * @param {typeof turns} before
 * @param {() => void} again
 */
function rewind(exchange, before, again) {
  if (current) return;
  while (exchange.element.nextSibling) exchange.element.nextSibling.remove();
  exchange.element.remove();
  turns = before;
  window.history.replaceState(null, "", window.location.pathname);
  again();
  conversation.querySelector(".exchange:last-child > h2").focus({ preventScroll: true });
}

function empty() {
  current?.abort();
  current = null;
  turns = [];
  for (const exchange of conversation.querySelectorAll(".exchange")) exchange.remove();
  byId("welcome").hidden = false;
  show();
}

/** @param {string} text The text for screen readers. */
function say(text) {
  byId("said").textContent = text;
}

/** Show the controls that can be used now. */
function show() {
  const busy = current !== null;
  const begun = conversation.querySelector(".exchange") !== null;
  if (!busy && document.activeElement === byId("stop")) question.focus();
  conversation.classList.toggle("busy", busy);
  byId("send").hidden = busy;
  byId("stop").hidden = !busy;
  byId("forget").hidden = !key.get();
  byId("fresh").hidden = !begun;
  byId("latest").hidden = !begun;
}

show();
showHistory();
welcome();
question.focus();
openAddressed();
