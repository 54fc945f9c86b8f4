/** The form for reviewing a run: right, wrong or undecided, which documents decided it, and why. */

import { Refusal, review } from "./api.js";
import { withKey } from "./door.js";
import { count, el, plain, told } from "./dom.js";

const NAME = "conflictscore.reviewer";
const WORDS = {
  better: "Right: the new answer is better",
  worse: "Wrong: the first answer was better",
  "no difference": "It makes no difference",
  "cannot tell": "Undecided",
  right: "Right",
  wrong: "Wrong",
  undecided: "Undecided",
};

/**
 * The form, filled with the earlier review of this reviewer.
 * @param {any} run
 * @param {{verdicts: string[], reviews: Record<string, any>, kept_in: string}} known
 * @param {(reviewer: string, next: boolean) => Promise<void>} saved Called after the review is stored.
 * @returns {HTMLElement}
 */
export function reviewForm(run, known, saved) {
  const name = localStorage.getItem(NAME) ?? "";
  const own = known.reviews[name];
  const trouble = el("p", { class: "trouble", role: "alert", hidden: true });
  const form = /** @type {HTMLFormElement} */ (
    el(
      "form",
      { class: "review", "aria-label": "Review" },
      el(
        "fieldset",
        {},
        el("legend", {}, run.flipped ? "Was the change right?" : "Is the answer right?"),
        ...known.verdicts.map((verdict) => choice("radio", "verdict", verdict, WORDS[verdict] ?? verdict)),
      ),
      run.documents.length > 0 &&
        el(
          "fieldset",
          { class: "decided" },
          el("legend", {}, "Which documents decide it? (optional)"),
          ...run.documents.map(({ number, title }) =>
            choice("checkbox", "decided_by", String(number), String(number), plain(title, 200)),
          ),
        ),
      el(
        "label",
        {},
        "Why (optional)",
        el("textarea", { name: "comment", rows: 3, maxlength: 4000, dir: "auto" }),
      ),
      el(
        "label",
        {},
        "Your name",
        el("input", { name: "reviewer", required: true, maxlength: 100, value: name, autocomplete: "name" }),
      ),
      trouble,
      el(
        "p",
        { class: "row" },
        el("button", { type: "submit", value: "next" }, "Save and open the next run"),
        el("button", { type: "submit", class: "quiet" }, "Save"),
        own && el("span", { class: "faint" }, "You have reviewed this run. Saving replaces your review."),
      ),
    )
  );
  if (own) {
    for (const radio of form.querySelectorAll("[name=verdict]")) radio.checked = radio.value === own.verdict;
    for (const box of form.querySelectorAll("[name=decided_by]")) {
      box.checked = (own.decided_by ?? []).includes(Number(box.value));
    }
    form.elements.comment.value = own.comment ?? "";
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new FormData(form);
    const reviewer = String(given.get("reviewer")).trim();
    const said = {
      reviewer,
      verdict: String(given.get("verdict") ?? ""),
      decided_by: given.getAll("decided_by").map(Number),
      comment: String(given.get("comment")),
    };
    try {
      await withKey(() => review(run.run_id, said));
      localStorage.setItem(NAME, reviewer);
      await saved(reviewer, event.submitter?.getAttribute("value") === "next");
    } catch (error) {
      if (!(error instanceof Refusal)) console.error(error);
      trouble.hidden = false;
      trouble.textContent =
        error instanceof Refusal ? plain(error.message, 500) : "An error occurred in this page.";
    }
  });
  const others = Object.entries(known.reviews).filter(([who]) => who !== name);
  return el(
    "section",
    { class: "judging" },
    el("h3", {}, "Review"),
    form,
    others.length > 0 && what(others),
  );
}

/**
 * The reviews of others. They are collapsed, so that they do not influence this reviewer.
 * @param {[string, any][]} others
 */
function what(others) {
  const items = others.map(([who, said]) => {
    const verdict = WORDS[said.verdict] ?? said.verdict;
    return told("li", "", `${who}: ${verdict}${said.comment ? `. ${said.comment}` : ""}`, 5000);
  });
  return el(
    "details",
    {},
    el("summary", {}, `Other reviewers: ${count(others.length, "review")}`),
    el("ul", {}, ...items),
  );
}

/**
 * @param {string} type
 * @param {string} name
 * @param {string} value
 * @param {string} text
 * @param {string} [hint]
 */
function choice(type, name, value, text, hint = "") {
  const input = el("input", { type, name, value, required: type === "radio" });
  return el("label", hint ? { title: hint } : {}, input, ` ${text}`);
}
