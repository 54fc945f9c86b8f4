/** Shows the steps of a run as they happen. */

import { count, el, told } from "./dom.js";

/** A growing list of the steps of one run, with a progress bar for the verdicts. */
export class Steps {
  #list = el("ol", { class: "steps", "aria-live": "polite", "aria-relevant": "additions" });
  #bar = el("progress", { value: 0, max: 1, "aria-label": "Verdicts" });
  #barText = el("span", { class: "bar-text" });
  #barRow = el("p", { class: "bar", hidden: true }, this.#bar, this.#barText);
  #draft = el("div", { class: "draft", hidden: true });
  #documents = 0;
  #labelled = 0;
  #claimed = 0;
  #pairs = 0;
  /** @type {Set<string>} The texts of claims that already have their verdicts. */
  #known = new Set();

  /** The element to show. */
  element = el("div", { class: "work" }, this.#list, this.#barRow, this.#draft);

  /** @param {string} first The first step. */
  constructor(first) {
    this.#say(first);
  }

  /**
   * @param {string} event
   * @param {any} data
   */
  hear(event, data) {
    const heard = {
      question: () => this.#say(`Understood as: ${data.question}`),
      documents: () => this.#found(data.documents),
      answer: () => this.#answered(data),
      claims: () => this.#claims(data.claims),
      label: () => this.#label(),
      scores: () => this.#scores(data),
      decision: () => this.#decided(data),
      look_further: () => this.#lookedFurther(data),
      flip: () => this.#say("The answer changed"),
    };
    heard[event]?.();
  }

  /** The list without the progress bar, for a run that is over. */
  closed() {
    for (const step of this.#list.children) step.className = "done";
    return el(
      "details",
      { class: "log" },
      el("summary", {}, `How this answer was reached: ${count(this.#list.children.length, "step")}`),
      this.#list,
    );
  }

  /** @param {any[]} documents */
  #found(documents) {
    this.#documents = documents.length;
    this.#say(`Found ${count(documents.length, "document")}; answering`);
  }

  /** @param {{round: number, answer: string}} data */
  #answered(data) {
    this.#say(
      data.round === 0
        ? "Answered; splitting the answer into claims"
        : "Answered again; splitting the answer into claims",
    );
    const title = data.round === 0 ? "First answer, being checked" : "Second answer, being checked";
    this.#draft.hidden = false;
    this.#draft.replaceChildren(el("h3", {}, title), told("p", "text", data.answer));
  }

  /** @param {{text: string}[]} claims */
  #claims(claims) {
    const fresh = claims.filter((claim) => !this.#known.has(claim.text));
    for (const claim of fresh) this.#known.add(claim.text);
    this.#labelled = 0;
    this.#claimed = claims.length;
    this.#pairs = fresh.length * this.#documents;
    const reused = claims.length - fresh.length;
    this.#say(
      `${count(claims.length, "claim")}${reused ? `, ${reused} of them checked already` : ""};` +
        " checking each claim against every document",
    );
    this.#progress();
  }

  #label() {
    this.#labelled += 1;
    this.#progress();
  }

  #progress() {
    this.#barRow.hidden = this.#labelled >= this.#pairs;
    this.#bar.setAttribute("max", String(this.#pairs));
    this.#bar.setAttribute("value", String(this.#labelled));
    this.#barText.textContent = `${this.#labelled} of ${count(this.#pairs, "verdict")}`;
  }

  /** @param {{conflicting: number[]}} data */
  #scores(data) {
    this.#barRow.hidden = true;
    const split = data.conflicting.length;
    this.#say(
      split
        ? `The sources disagree about ${count(split, "claim")}`
        : "No claim has sources on both sides",
    );
  }

  /** @param {{decision: string, reason: string}} data */
  #decided(data) {
    const said = {
      look_further: "Searching for more documents on the doubtful claims",
      correct: `Asking the sources again: ${data.reason}`,
      justify: "Asking the model why it changed the answer",
    };
    const text = said[data.decision];
    if (text) this.#say(text);
  }

  /** @param {{searches: {query: string, found: number[]}[], documents: any[]}} data */
  #lookedFurther(data) {
    for (const search of data.searches.filter((one) => one.query)) {
      this.#say(`Searched for “${search.query}”: ${count(search.found.length, "new document")}`);
    }
    this.#documents += data.documents.length;
    this.#labelled = 0;
    this.#pairs = this.#claimed * data.documents.length;
    this.#progress();
  }

  /** @param {string} text */
  #say(text) {
    for (const step of this.#list.children) step.className = "done";
    this.#list.append(told("li", "now", text, 500));
  }
}
