// Checks of transaction steps that both stores share.

import { HoldfastError, InvalidInput } from "../../kernel/error.js";

/** A transaction was used after its end: on PostgreSQL its connection may belong to another transaction by then. */
export class TransactionEnded extends HoldfastError {
  readonly code = "TRANSACTION_ENDED";

  constructor() {
    super("This transaction was committed or rolled back already. Open a new one.");
  }
}

/** Savepoints are the user's own; the transaction as a whole belongs to its step. */
const ENDS_OR_BEGINS =
  /^(begin|start transaction|commit|end|abort|prepare transaction|rollback(?!( work| transaction)? to\b))\b/;
/** What PostgreSQL skips in front of a statement and between its words; comments nest, and are taken out before. */
const SKIPPED = /[\s;]+/;
const WORDS = 4;

/** The step's record and its statements are committed together: with a COMMIT by hand they would not be. */
export function checkStatement(text: unknown): asserts text is string {
  if (typeof text !== "string") throw new InvalidInput("tx.query", "takes the text of one statement and its values");
  if (ENDS_OR_BEGINS.test(firstWords(text))) throw new EndedByHand();
}

export class EndedByHand extends InvalidInput {
  constructor() {
    super("tx.query", "a transaction step begins and ends by itself; throw to undo it, use savepoints inside it");
  }
}

/** Each statement is sent separately: in one text, a COMMIT could hide behind another statement. */
export class SeveralStatements extends InvalidInput {
  constructor() {
    super(
      "tx.query",
      "takes one statement at a time; send each in a separate call. The transaction begins and ends by itself",
    );
  }
}

/** The step's own SET TRANSACTION made it read-only: its result could not be recorded. */
export class MadeReadOnly extends InvalidInput {
  constructor() {
    super("tx.query", "made the transaction read only, and its result cannot be recorded in it; omit that statement");
  }
}

/** In lower case, without the comments in front of them and between them. */
function firstWords(text: string): string {
  const words: string[] = [];
  let rest = text;
  while (words.length < WORDS && rest !== "") {
    const skipped = SKIPPED.exec(rest);
    if (skipped?.index === 0) rest = rest.slice(skipped[0].length);
    else if (rest.startsWith("--")) rest = /[\n\r]/.test(rest) ? rest.slice(rest.search(/[\n\r]/)) : "";
    else if (rest.startsWith("/*")) rest = behindComment(rest);
    else {
      const word = /^\w+/.exec(rest)?.[0];
      if (word === undefined) break;
      words.push(word.toLowerCase());
      rest = rest.slice(word.length);
    }
  }
  return words.join(" ");
}

function behindComment(text: string): string {
  let depth = 0;
  for (const { 0: mark, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === "/*" ? 1 : -1;
    if (depth === 0) return text.slice(index + mark.length);
  }
  return "";
}
