/** Shows one question of the conversation, with its answer or the reason why there is none. */

import { Refusal } from "./api.js";
import { answerView, outcome } from "./answer.js";
import { el, plain, told } from "./dom.js";
import { Steps } from "./steps.js";

/** What the reader can do about an error, by the error's code. */
const ADVICE = {
  unreachable: "Check that it is still running and that you are online, then try again.",
  cut_off: "Try again. Steps that were finished may come from the cache.",
  invalid_api_key: "Enter the key that you were given for this service.",
  host_not_allowed: "Open this page as localhost, on the machine that the service runs on.",
  no_documents: "Ask in other words, so that the search finds documents.",
  too_many_requests: "The service is busy. Try again in a moment.",
  upstream_rate_limit: "The model's provider is busy. Try again in a moment.",
  body_too_large: "Shorten the question, or start a new conversation.",
  timeout: "Ask a shorter question, or try again.",
  run_not_found: "The service keeps a limited number of runs. Ask the question again.",
  invalid_value: "Change the question and ask again.",
};

const USUAL_ADVICE = "Try again. If the error persists, tell the operator of this service.";

/** A question with its answer. */
export class Exchange {
  #steps;
  #title;
  #question;
  #actions;
  #body = el("div", {});
  #edit = button("Edit question", () => this.#openEditor());
  #tools = el("p", { class: "row" }, this.#edit);

  /**
   * @param {string} question Empty if it is not known yet.
   * @param {string} first The first step.
   * @param {{retry: () => void, ask: (question: string, earlier?: string) => void}} actions What
   *   the reader can do. `retry` repeats the request. `ask` removes this exchange and all later
   *   ones, and asks a question; `earlier` is an answer to which the reader wants an alternative.
   */
  constructor(question, first, actions) {
    this.#question = question;
    this.#actions = actions;
    this.#steps = new Steps(first);
    this.#tools.hidden = !question;
    this.#title = told("h2", "question", question || "A run of this service");
    this.#title.tabIndex = -1;
    this.element = el("article", { class: "exchange" }, this.#title, this.#tools, this.#body);
    this.#body.replaceChildren(this.#steps.element);
  }

  /**
   * Show a step of the run.
   * @param {string} event
   * @param {any} data
   */
  hear(event, data) {
    this.#steps.hear(event, data);
  }

  /**
   * Show a run that has ended.
   * @param {any} run
   * @param {boolean} watched Whether the page showed the steps of the run.
   * @param {string} [earlier] The answer to which the reader wanted an alternative.
   * @returns {string} The text for screen readers.
   */
  finish(run, watched, earlier) {
    this.element.id = `run=${run.run_id}`;
    this.#title.textContent = plain(run.asked ?? run.question);
    // a run opened by its address has no conversation here, so its standalone question is asked again
    if (!watched) this.#question = run.question ?? "";
    this.#tools.hidden = !this.#question;
    const same = earlier && run.answer === earlier ? "The model gave the same answer again. " : "";
    const another = button("Another answer", () => this.#actions.ask(this.#question, run.answer));
    this.#end(
      same && el("p", { class: "faint" }, same),
      answerView(run),
      run.answer && this.#question && el("p", { class: "another" }, another),
      watched && this.#steps.closed(),
    );
    return `${run.answer ? "Answered" : "No answer"}. ${same}${outcome(run)}`;
  }

  /**
   * Show that a run has failed.
   * @param {unknown} error
   * @returns {string} The text for screen readers.
   */
  fail(error) {
    const known = error instanceof Refusal;
    const message = known ? plain(error.message, 1000) : "An error occurred in this page.";
    const advice = (known && ADVICE[error.code]) || USUAL_ADVICE;
    const wait = known && error.wait ? ` The service asks you to wait ${plain(error.wait, 20)} s.` : "";
    this.#end(
      el(
        "div",
        { class: "trouble" },
        el("h3", {}, "There is no answer"),
        told("p", "", message),
        el("p", {}, advice + wait),
        this.#retry("Try again"),
      ),
    );
    return `There is no answer. ${message}`;
  }

  /**
   * Show that the reader has stopped the run.
   * @returns {string} The text for screen readers.
   */
  stop() {
    this.#end(el("div", { class: "stopped" }, el("p", {}, "Stopped."), this.#retry("Ask again")));
    return "Stopped.";
  }

  /** @param {...(HTMLElement | false)} parts */
  #end(...parts) {
    this.#body.replaceChildren(...parts.filter(Boolean));
  }

  /** @param {string} name */
  #retry(name) {
    const again = el("button", { type: "button" }, name);
    again.addEventListener("click", () => this.#actions.retry());
    return again;
  }

  #openEditor() {
    const close = () => {
      form.replaceWith(this.#tools);
      this.#edit.focus();
    };
    const form = editor(this.#question, (text) => this.#actions.ask(text), close);
    this.#tools.replaceWith(form);
    form.querySelector("textarea").focus();
  }
}

/**
 * @param {string} name
 * @param {() => void} act
 */
function button(name, act) {
  const made = el("button", { type: "button", class: "quiet" }, name);
  made.addEventListener("click", act);
  return made;
}

/**
 * A form to change a question.
 * @param {string} question
 * @param {(text: string) => void} ask
 * @param {() => void} cancel
 */
function editor(question, ask, cancel) {
  const field = /** @type {HTMLTextAreaElement} */ (
    el("textarea", { rows: 2, dir: "auto", maxlength: 20000, "aria-label": "Edited question" })
  );
  field.value = question;
  const form = el(
    "form",
    { class: "editor" },
    el("div", { class: "field" }, field),
    el("p", { class: "faint" }, "The new answer replaces this answer and all later ones."),
    el(
      "p",
      { class: "row" },
      el("button", { type: "submit" }, "Ask again"),
      button("Cancel", cancel),
    ),
  );
  const submit = () => field.value.trim() && ask(field.value.trim());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation(); // otherwise Escape would also stop a run
      cancel();
    }
    if (event.key !== "Enter" || event.target !== field || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  return form;
}
