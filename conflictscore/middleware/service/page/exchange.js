/** One question of the conversation, up to its answer or the reason why there is none. */

import { Refusal } from "./api.js";
import { answerView, outcome } from "./answer.js";
import { el, plain, told } from "./dom.js";
import { Steps } from "./steps.js";

/** What the reader can do about a refusal, by its code. */
const ADVICE = {
  unreachable: "Check that it is still running and that you are online, then try again.",
  cut_off: "Try again; what was finished so far may come from the cache.",
  invalid_api_key: "Enter the key that you were given for this service.",
  host_not_allowed: "Open this page as localhost, on the machine that the service runs on.",
  no_documents: "Word the question differently, so that the search finds something.",
  too_many_requests: "The service is busy. Try again in a moment.",
  upstream_rate_limit: "The model's provider is busy. Try again in a moment.",
  body_too_large: "Shorten the question, or start a new conversation.",
  timeout: "Ask for less at once, or try again.",
  run_not_found: "The service keeps a limited number of runs. Ask the question again.",
  invalid_value: "Change the question and ask again.",
};

const USUAL_ADVICE = "Try again; if it keeps happening, tell whoever runs this service.";

/** A question with its answer. */
export class Exchange {
  #steps;
  #title;
  #body = el("div", {});

  /**
   * @param {string} question
   * @param {string} first The first step.
   * @param {() => void} again Asks the same again.
   */
  constructor(question, first, again) {
    this.again = again;
    this.#steps = new Steps(first);
    this.#title = told("h2", "question", question);
    this.#title.tabIndex = -1;
    this.element = el("article", { class: "exchange" }, this.#title, this.#body);
    this.#body.replaceChildren(this.#steps.element);
  }

  /**
   * A step of the run.
   * @param {string} event
   * @param {any} data
   */
  hear(event, data) {
    this.#steps.hear(event, data);
  }

  /**
   * The end of a run.
   * @param {any} run
   * @param {boolean} watched Whether its steps were shown.
   * @returns {string} What a screen reader says of it.
   */
  finish(run, watched) {
    this.element.id = `run=${run.run_id}`;
    this.#title.textContent = plain(run.asked ?? run.question);
    this.#end(answerView(run), watched && this.#steps.closed());
    return `${run.answer ? "Answered" : "No answer"}. ${outcome(run)}`;
  }

  /**
   * The end of a run that failed.
   * @param {unknown} error
   * @returns {string} What a screen reader says of it.
   */
  fail(error) {
    const known = error instanceof Refusal;
    const message = known ? plain(error.message, 1000) : "This page failed.";
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

  /** @returns {string} What a screen reader says of it. */
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
    const button = el("button", { type: "button" }, name);
    button.addEventListener("click", () => this.again());
    return button;
  }
}
