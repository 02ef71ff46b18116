// Holdfast as an application uses it: by the names of the package, from the compiled build.

import { type Context, createClient, createNode, workflow } from "holdfast";
import { postgres } from "holdfast/postgres";
import pg from "pg";
import { pendingSql } from "../pending.js";
import { type Input, type Library, NAP_MS, type Program, type Reports, STEP_RESULT } from "./library.js";

const program = (name: Program, body: (ctx: Context, input: Input) => Promise<unknown>) => workflow(name, body);

function programsOf(reports: Reports) {
  const napsBegun = new Map<string, number>();
  return {
    noop: program("noop", async (_ctx, input) => {
      reports.begun(input);
      reports.ended();
    }),
    steps: program("steps", async (ctx, input) => {
      reports.begun(input);
      for (let i = 1; i <= (input as number); i++) await ctx.step(`step${i}`, () => STEP_RESULT);
      reports.ended();
    }),
    echo: program("echo", async (_ctx, input) => {
      reports.begun(input);
      reports.ended();
      return input;
    }),
    nap: program("nap", async (ctx, input) => {
      // The function runs again after the sleep, on whichever node wakes it.
      if (!napsBegun.has(ctx.runId)) {
        napsBegun.set(ctx.runId, performance.now());
        reports.begun(input);
      }
      await ctx.sleep("nap", NAP_MS);
      reports.late(performance.now() - napsBegun.get(ctx.runId)! - NAP_MS);
      reports.ended();
    }),
    parked: program("parked", async (ctx, input) => {
      reports.begun(input);
      await ctx.sleep("parked", "1h");
    }),
  };
}

interface Sent {
  readonly name?: string;
  callback?: (error: Error | null, result?: { readonly rows: readonly unknown[] }) => void;
}

/** Counts the claims that all connections of the process send, and those that are answered with no run. */
function countClaims(): { asked: number; empty: number } {
  const claims = { asked: 0, empty: 0 };
  const query = pg.Client.prototype.query as (this: pg.Client, sent: Sent, ...rest: unknown[]) => unknown;
  pg.Client.prototype.query = function (this: pg.Client, sent: Sent, ...rest: unknown[]) {
    const answer = sent.callback;
    if (answer && sent.name?.endsWith("claim_runs")) {
      claims.asked++;
      sent.callback = (error, result) => {
        if (result?.rows.length === 0) claims.empty++;
        answer(error, result);
      };
    }
    return query.call(this, sent, ...rest);
  } as never;
  return claims;
}

const claims = countClaims();

export const library: Library = {
  name: "holdfast",
  packageName: "holdfast",
  programs: ["noop", "steps", "echo", "nap", "parked"],
  startsMany: true,
  settings: "defaults; when draining, flow.prefetch as large as concurrency",
  share: 1,
  pendingSql,
  async open({ url, schema }, reports) {
    const store = postgres(url, { schema });
    await store.migrate();
    const client = createClient({ store });
    const programs = programsOf(reports);
    return {
      start: (name, input) => client.start(programs[name], input),
      startMany: (name, inputs) =>
        client.startMany(
          programs[name],
          inputs.map((input) => ({ input })),
        ),
      async work({ concurrency, purpose }) {
        const flow = purpose === "drain" ? { flow: { prefetch: concurrency } } : {};
        const node = await createNode({ store, programs: Object.values(programs), concurrency, ...flow });
        return () => node.stop({ grace: "2s" });
      },
      claims: () => claims,
      close: () => store.close(),
    };
  },
};
