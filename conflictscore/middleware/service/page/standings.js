/** The labels for what the check found about a part of an answer, each with an explanation. */
export const STANDINGS = {
  disputed: { name: "Disputed", says: "Sources disagree about this" },
  contradicted: { name: "Contradicted", says: "Sources contradict this, and none supports it" },
  changed: { name: "Changed", says: "Changed after the sources were asked again" },
  hedged: { name: "Both sides shown", says: "Sources disagree, and the answer now says so" },
  supported: { name: "Supported", says: "Sources support this" },
  uncovered: { name: "Not covered", says: "No source mentions this" },
  unlabelled: { name: "No verdict", says: "This was not compared with any source" },
  unclaimed: { name: "Not checked", says: "Some of this text was not recognised as a claim, so it was not checked" },
};
