// A crash after any entry of the journal: whoever goes on does what is left, nothing that was recorded, and never passes a gate
// that nobody opened. The journal of a run that ended is cut at every entry, and a run with that journal goes on.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createNode, type Node } from "../../src/client/create-node.js";
import type { RunHandle } from "../../src/client/run-handle.js";
import { append, graph, signal, state } from "../../src/index.js";
import type { JournalEntry } from "../../src/store/contract/journal.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { QUICK } from "../workflow/node-suite.js";

interface Journey {
  round: number;
  items: string[];
  log: string[];
  ok: boolean;
}
const S = state<Journey>({ log: append(), items: append() });
const go = signal<string>("go");
const ran: { runId: string; what: string }[] = [];
const did = (ctx: { runId: string; node: string; visit: string }) => {
  ran.push({ runId: ctx.runId, what: `${ctx.node}:${ctx.visit}` });
};
const soon = { timeout: 20_000 };

const inner = graph("prefix-inner", {
  state: state<{ left: number }>(),
  init: (left: number) => ({ left }),
  start: "count",
  nodes: {
    count: async (ctx, s) => {
      did(ctx);
      return { left: s.left - 1 };
    },
  },
  edges: { count: { to: ["count", "end"], choose: (s) => (s.left > 0 ? "count" : "end") } },
});
const journey = graph("journey", {
  state: S,
  start: "plan",
  nodes: {
    plan: async (ctx, s) => {
      did(ctx);
      ctx.spend("tokens", 1);
      return { round: s.round + 1, log: [`plan ${s.round + 1}`] };
    },
    search: S.map(
      () => ["x", "y", "z"],
      async (ctx, item) => {
        did(ctx);
        return item;
      },
      { into: "items", limit: 2 },
    ),
    fan: S.parallel({
      left: async (ctx) => {
        did(ctx);
        return { log: ["left"] };
      },
      sub: S.subgraph(inner, { input: () => 2, apply: () => ({ log: ["sub"] }) }),
    }),
    deep: S.subgraph(inner, { input: () => 2, apply: () => ({ log: ["deep"] }) }),
    review: S.approval({ ask: (s) => `Round ${s.round}?`, apply: (_s, d) => ({ ok: d.outcome === "approved" }) }),
    bell: S.wait(go, { timeout: "1h", apply: (_s, by) => ({ log: [`rung by ${by}`] }) }),
    pay: S.node({ retry: { attempts: 2, delay: 5 } }, async (ctx) => {
      did(ctx);
      return { log: ["paid"] };
    }),
  },
  edges: {
    plan: "search",
    search: "fan",
    fan: "deep",
    deep: "review",
    review: { to: ["bell", "plan"], choose: (s) => (s.ok ? "bell" : "plan") },
    bell: "pay",
    pay: "end",
  },
  snapshotEvery: 3,
});
const begin: Journey = { round: 0, items: [], log: [], ok: false };

const { url, schema, pool } = testSchema();
const store = openPostgres(url, { schema });
let node: Node;
beforeAll(async () => {
  await store.migrate();
  node = await createNode({ store, ...QUICK, programs: [journey] });
});
afterAll(async () => {
  await node.stop();
  await store.close();
});

const entriesOf = async (id: string) => (await store.journal.read(id))!.entries;
const recorded = (entries: readonly JournalEntry[]) =>
  entries.filter(({ kind }) => kind === "node" || kind === "item").map(({ name, key }) => `${name}:${key}`);

/** Denies the first round, approves the second, rings the bell: whatever the run still waits for. */
async function attend(run: RunHandle<unknown>): Promise<void> {
  await expect
    .poll(async () => {
      const { state: now } = await run.status();
      if (now !== "parked") return now;
      const entries = await entriesOf(run.id);
      const visits = entries.filter(({ kind }) => kind === "approval.begun").map(({ key }) => key!);
      const taken = entries.filter(({ kind }) => kind === "take").map(({ key }) => key);
      const open = visits.filter((visit) => !taken.includes(`wait:review:${visit}`)).at(-1);
      const choice = open === "1" ? "denied" : "approved";
      if (open) {
        expect(ran.some(({ runId, what }) => runId === run.id && what === "pay:1")).toBe(false);
        await run.decide("review", { choice, by: "ann", nth: open }).catch(() => {});
      } else await run.signal(go, "ben", { id: "once" }).catch(() => {});
      return now;
    }, soon)
    .toBe("completed");
}

test("a run goes on from every prefix of its journal with what is left, once, to the same result", async () => {
  const whole = await node.start(journey, begin);
  await attend(whole);
  const result = await whole.result();
  const log = await entriesOf(whole.id);
  expect(log.length).toBeGreaterThan(40);
  expect(log.filter(({ kind }) => kind === "snapshot").length).toBeGreaterThan(3);
  const everything = recorded(log).sort();
  expect(new Set(everything).size).toBe(everything.length);

  await Promise.all(
    log.slice(0, -1).map(async (_, i) => {
      const run = await node.start(journey, begin, { delay: "1h" });
      await cutTo(whole.id, run.id, i + 1);
      const before = recorded(log.slice(0, i + 1));
      await attend(run);
      expect(await run.result()).toEqual(result);
      const after = await entriesOf(run.id);
      expect(recorded(after).sort()).toEqual(everything);
      const again = ran.filter(({ runId }) => runId === run.id).map(({ what }) => what);
      expect(again.filter((what) => before.includes(what))).toEqual([]);
      expect(new Set(again).size).toBe(again.length);
    }),
  );
}, 60_000);

/** As if the holder had died when its last commit of these entries was written. */
async function cutTo(from: string, to: string, length: number): Promise<void> {
  await pool.query(
    `with copied as (
       insert into ${schema}.journal (run_id, seq, epoch, kind, name, key, codec, data, at)
       select $2::uuid, seq, epoch, kind, name, key, codec, data, at from ${schema}.journal
       where run_id = $1::uuid and seq between 2 and $3
     ), inbox as (
       insert into ${schema}.inbox
       select (jsonb_populate_record(i, jsonb_build_object('run_id', $2::uuid))).*
       from ${schema}.inbox i where run_id = $1::uuid and taken_seq <= $3
     )
     update ${schema}.runs set seq = $3, available_at = clock_timestamp() where id = $2::uuid`,
    [from, to, length],
  );
}
