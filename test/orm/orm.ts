// What the cases ask of an ORM: one table, written in a transaction of the ORM's own and in the transaction of a step.

import type { StepTransactionClient, Transaction } from "holdfast";

export type Write = (run: string, what: string) => Promise<unknown>;

export interface Orm {
  readonly name: string;
  /** A transaction as the ORM opens it; `tx` is what Holdfast gets. */
  transaction(work: (write: Write, tx: Transaction) => Promise<void>): Promise<void>;
  /** Over the transaction of a step. `nested`: what the ORM does when it begins a transaction there. */
  over(tx: StepTransactionClient): {
    readonly write: Write;
    nested(work: (write: Write) => Promise<void>): Promise<unknown>;
  };
  close(): Promise<void>;
}

export type OpenOrm = (url: string, schema: string) => Orm;
