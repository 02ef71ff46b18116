// The programs of the ORM cases, and the process that dies with open transactions: shared by both sides.

import { event, type Node, on, type StepTransactionClient, signal, workflow } from "holdfast";
import type { Orm } from "./orm.js";

export const paid = signal<number>("paid");
export const booked = event<{ readonly seat: string }>()("seat.booked");

export const QUICK = { timing: { pollInterval: 20, pollMax: 50, housekeeping: 20, lease: 2_000 } } as const;

/** Waits for all that can be sent to it. */
export const order = workflow("order", async (ctx, _input: { readonly seat: string }) => {
  const cents = await ctx.waitFor(paid);
  const { outcome } = await ctx.approval("ship", { ask: "Ship it?" });
  return `${cents} ${outcome}`;
});

export const seen = workflow("seen", { on: [on(booked)] }, async (_ctx, { seat }) => seat);

/** The table of bookings refuses it. */
export const REFUSED = "refused";
export const TABLE = `(id serial, run text not null, what text not null check (what <> '${REFUSED}'))`;

export interface Hold {
  readonly orm: string;
  readonly holds: boolean;
}

/** A transaction step that writes by the ORM. `hold` is called between its write and the commit. */
export function bookingOf(orms: ReadonlyMap<string, Orm>, name: string, hold = async () => {}) {
  return workflow(name, async (ctx, input: Hold) =>
    ctx.transaction("book", { retry: { attempts: 2, delay: 1 } }, async (tx: StepTransactionClient, { attempt }) => {
      const { write, nested } = orms.get(input.orm)!.over(tx);
      await write(ctx.runId, "seat");
      await nested((inner) => inner(ctx.runId, "meal").then(() => {}));
      await nested(async (inner) => {
        await inner(ctx.runId, "undone");
        throw new RangeError("full");
      }).catch((error) => {
        if (!(error instanceof RangeError)) throw error;
      });
      // The database refuses it, and the savepoint keeps the transaction usable.
      const refused = await nested((inner) => inner(ctx.runId, REFUSED).then(() => {})).catch(() => "refused");
      if (refused !== "refused") throw new TypeError("accepted");
      if (input.holds) await hold();
      return attempt;
    }),
  );
}

/** Everything that a caller can do in its own transaction. */
export async function doAll(by: Node, orm: Orm, open: string, seat: string, end?: () => Promise<void>) {
  let started = "";
  await orm.transaction(async (write, tx) => {
    await write(seat, "order");
    const run = await by.start(order, { seat }, { key: seat, tx });
    started = run.id;
    await by.run(open).signal(paid, 300, { id: seat, tx });
    await by.run(open).decide("ship", { choice: "approved", by: seat }, { tx });
    await by.emit(booked, { seat }, { id: seat, tx });
    await end?.();
  });
  return started;
}
