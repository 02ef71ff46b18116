// Prisma: its interactive transaction for `{ tx }`, and the transaction of a step as the driver adapter of a Prisma client.

import { InvalidInput } from "../kernel/error.js";
import type { StepTransactionClient, Transaction } from "../store/contract/transaction.js";
import { StepPool } from "./step-pool.js";

/** What `prisma.$transaction(async (tx) => …)` passes. */
export interface PrismaTransaction {
  /** Sends a statement as it is. */
  $queryRawUnsafe<T = unknown>(query: string, ...values: never[]): PromiseLike<T>;
  /** Only the client has it, not a transaction. */
  readonly $connect?: never;
}

/** `start(…, { tx: fromPrisma(tx) })`: the run exists when the transaction commits. */
export function fromPrisma(tx: PrismaTransaction): Transaction {
  if (typeof tx?.$queryRawUnsafe !== "function" || tx.$connect !== undefined) {
    throw new InvalidInput(
      "fromPrisma",
      "takes the `tx` of prisma.$transaction(async (tx) => …), not the client itself",
    );
  }
  return { query: async (text, values) => tx.$queryRawUnsafe<unknown[]>(text, ...(values as never[])) };
}

/** The class `PrismaPg` of `@prisma/adapter-pg`, and its options. */
export type PrismaAdapter<Factory, Options> = new (
  config: object,
  options?: Options,
) => Factory & { connect(): Promise<{ underlyingDriver?(): object }> };

/**
 * In `ctx.transaction`: `new PrismaClient({ adapter: prismaAdapter(PrismaPg, tx) })` writes in the transaction of the step. The
 * adapter's own pool never opens a connection: its two ways to one are replaced.
 */
export function prismaAdapter<Factory, Options>(
  PrismaPg: PrismaAdapter<Factory, Options>,
  tx: StepTransactionClient,
  options?: Options,
): Factory {
  const factory = new PrismaPg({}, options);
  const connect = factory.connect.bind(factory);
  const step = new StepPool(tx);
  factory.connect = async () => {
    const adapter = await connect();
    const pool = adapter.underlyingDriver?.();
    if (!pool) throw new InvalidInput("prismaAdapter", "needs an @prisma/adapter-pg of version 7 or later");
    Object.assign(pool, { query: step.query.bind(step), connect: () => step.connect() });
    return adapter;
  };
  return factory;
}
