/** What the check says of a part of an answer: its name, and what that means. */
export const STANDINGS = {
  disputed: { name: "Disputed", says: "Sources disagree about this" },
  contradicted: { name: "Contradicted", says: "Sources contradict this, and none supports it" },
  changed: { name: "Changed", says: "Changed after a second look" },
  hedged: { name: "Both sides told", says: "Sources disagree, and the answer now says so" },
  supported: { name: "Supported", says: "Sources support this" },
  uncovered: { name: "Not covered", says: "No source speaks to this" },
  unlabelled: { name: "No verdict", says: "This was compared with no source" },
  unclaimed: { name: "Not checked", says: "Something in this was read as no claim, and was not checked" },
};
