/** What the check says about a part of an answer: the label, and what it means. */
export const STANDINGS = {
  disputed: { name: "Disputed", says: "Sources disagree about this" },
  contradicted: { name: "Contradicted", says: "Sources contradict this, and none supports it" },
  changed: { name: "Changed", says: "Changed after a second look" },
  hedged: { name: "Both sides shown", says: "Sources disagree, and the answer now says so" },
  supported: { name: "Supported", says: "Sources support this" },
  uncovered: { name: "Not covered", says: "No source mentions this" },
  unlabelled: { name: "No verdict", says: "This was not compared with any source" },
  unclaimed: { name: "Not checked", says: "Part of this was not recognised as a claim, so it was not checked" },
};
