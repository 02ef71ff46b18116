// What both stores refuse of a transaction.

import { HoldfastError, InvalidInput } from "../../kernel/error.js";

/** Kept and used after its end: on PostgreSQL its connection may be in somebody else's transaction by then. */
export class TransactionEnded extends HoldfastError {
  readonly code = "TRANSACTION_ENDED";

  constructor() {
    super("This transaction was committed or rolled back already. Open a new one.");
  }
}

/** Savepoints are the user's own; the transaction as a whole belongs to its step. */
const ENDS_OR_BEGINS = /^\s*(begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!.*\bto\b))\b/i;

/** The step's record and its statements are committed together: with a COMMIT by hand they would not be. */
export function checkStatement(text: unknown): void {
  if (typeof text === "string" && ENDS_OR_BEGINS.test(text)) throw new EndedByHand();
}

export class EndedByHand extends InvalidInput {
  constructor() {
    super("tx.query", "a transaction step begins and ends by itself; throw to undo it, use savepoints inside it");
  }
}
