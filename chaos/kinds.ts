// More of the load: machines with timers, events and a schedule that start runs, an actor that events start,
// and runs under limits. Each leaves what its checker needs in the database.

import { setup } from "xstate";
import { actor, expectation, strategy } from "../src/actor/index.js";
import { type Context, event, every, on, workflow } from "../src/index.js";
import { machine } from "../src/machine/index.js";
import type { Act, Job } from "./programs.js";

/** Fixed, so that the checker can tell what is early. */
export const TIMERS = { "after 400ms in red": 400, "after 700ms in green": 700 } as const;
export const WINDOW_MS = 1_000;
export const SLOTS = 3;
const ACCOUNTS = ["a", "b", "c", "d"] as const;

export const shipped = event<{ no: string; n: number; workMs: number }>()("shipped");

export interface Metered extends Job {
  readonly account: string;
}

export function accountOf(n: number): string {
  return ACCOUNTS[(n / 10) % ACCOUNTS.length]!;
}

/** `wait`: how long a machine's effect takes. */
export function kindsWith(
  act: Act,
  retry: { readonly attempts: number; readonly backoff: "fixed"; readonly delay: number },
) {
  const light = machine(
    "light",
    setup({ types: {} as { events: { type: "SEEN" } }, actions: { look: () => {} } }).createMachine({
      initial: "red",
      states: {
        red: { after: { 400: "green" } },
        green: { after: { 700: "seen" } },
        seen: { entry: "look", on: { SEEN: "done" } },
        done: { type: "final" },
      },
    }),
    { effects: { look: { retry: 100_000, run: async () => ({ type: "SEEN" }) } } },
  );
  const crossing = workflow("crossing", async (ctx: Context, { n }: Job) => {
    await ctx.child(light, undefined);
    return n;
  });
  const metered = workflow(
    "metered",
    { concurrency: SLOTS, serial: "account" },
    async (ctx, { n, workMs }: Metered) => {
      await act(ctx, "meter", "1", workMs / 8);
      return n;
    },
  );
  const noticed = workflow("noticed", { on: [on(shipped)] }, async (ctx, { n }) => {
    await act(ctx, "notice", "1", 20);
    return n;
  });
  const ticker = workflow("ticker", { on: [every(WINDOW_MS, { catchUp: "all" })] }, async (ctx) => {
    await act(ctx, "tick", "1", 20);
  });
  const watcher = watcherWith(act, retry);
  return { light, crossing, metered, noticed, ticker, watched: watcher.expectations.watched };
}

/** An actor that events start, one run of a subject at a time. */
function watcherWith(act: Act, retry: Parameters<typeof kindsWith>[1]) {
  const moves = strategy({
    steps: { watch: (info, workMs: number) => act.move("watch", info, workMs) },
    init: async (info, { n, workMs }: { readonly no: string; readonly n: number; readonly workMs: number }) => {
      return { ...(await act.move("init", info, 20)), n, workMs, at: 0 };
    },
    next: ({ at, n, workMs }) => {
      return at === 1 ? { do: "done", result: n } : { do: "call", name: "watch", args: workMs / 8 };
    },
    handle: (seen) => ({ ...seen, at: seen.at + 1 }),
  });
  const budget = { turns: null, tokens: null, timeout: null };
  const watched = expectation({ on: [on(shipped, { subject: "no" })], budget, retry }, moves);
  return actor("watcher", { concurrency: 5, expectations: { watched } });
}
