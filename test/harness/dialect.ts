// Words that the project avoids: one list for its documents, its test names and its comments.

/** What the field does not say: code as persons, and verbs that mean everything. */
export const DIALECT =
  /\b(somebody|nobody|anybody|everybody|whoever|anew|go(es)? on|gone on|mend(s|ed)?|(is|are|was|were) told|besides?|redriv(e[sn]?|en|ing)|take[sn]? back|farewell|household|shelf|doomed|bur(y|ied)|poke[sd]?|knock(s|ed)?(?!\s*\|))\b/gi;

/** The same, and more of these verbs, which documents may still quote. */
export const DIALECT_IN_TESTS = new RegExp(
  `${DIALECT.source}|\\b(whom(ever)?|went on|tells?|told|stands?|stood|rings?|rung|so (many|long)|without a word|keeps? house|(lease|claim|time|window|grace|run)s? (is|are|was|were) over)\\b`,
  "gi",
);
