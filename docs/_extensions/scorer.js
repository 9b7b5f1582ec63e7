// Search results of guides come before those of the API; design decisions and internal tables come last.
var Scorer = {
  score: ([docname, , , , score, , kind]) => {
    if (docname.startsWith("generated/results/")) return score - 20;
    if (docname.startsWith("decisions/")) return score / 2;
    if (!/^(start|guides|tutorials)\/|^methods$/.test(docname)) return score;
    return kind === "title" ? score + 15 : 3 * score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
