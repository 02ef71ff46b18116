// A crash after any entry of the journal: the next node does what is left, nothing that was recorded, and never passes a gate
// without a decision. The journal of an ended run is cut at every entry, and a run with that journal continues.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunHandle } from "../../src/client/run-handle.js";
import { fold } from "../../src/graph/fold.js";
import { append, graph, state } from "../../src/graph/index.js";
import { PermanentError, signal } from "../../src/index.js";
import { codecs } from "../../src/kernel/codec/codecs.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import type { JournalEntry } from "../../src/store/contract/journal/journal.js";
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
const soon = { timeout: "20s" } as const;

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
    bell: S.wait(go, { timeout: "1h", apply: (_s, by) => ({ log: [`woken by ${by}`] }) }),
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
  limits: { timeout: "1h" },
  snapshotEvery: 3,
});
/** Fails while it is bad; then it is forked, and rewound. */
const D = state<{ bad: boolean; log: string[] }>({ log: append() });
const detour = graph("detour", {
  state: D,
  start: "plan",
  nodes: {
    plan: (ctx) => did(ctx),
    each: D.map(
      () => ["a", "b"],
      (ctx, item) => {
        did(ctx);
        return item;
      },
      { into: "log" },
    ),
    sub: D.subgraph(inner, { input: () => 2, apply: () => ({ log: ["sub"] }) }),
    review: D.approval({ ask: () => "?", choices: ["denied", "approved"], apply: () => {} }),
    last: D.node({ retry: 1 }, (ctx) => {
      did(ctx);
      return { log: ["last"] };
    }),
    check: D.node({ retry: 1 }, (_ctx, s) => {
      if (s.bad) throw new PermanentError("bad");
    }),
  },
  edges: { plan: "each", each: "check", check: "sub", sub: "review", review: "last", last: "end" },
  snapshotEvery: 2,
});
/** Nodes side by side, two questions inside a node, values that are kept, a breakpoint. */
const sideBySide = graph("side-by-side", {
  state: D,
  start: "plan",
  nodes: {
    plan: (ctx) => did(ctx),
    a: (ctx) => {
      did(ctx);
      ctx.store.put("prefix", "a", ctx.visit);
      return { log: ["a"] };
    },
    b: D.subgraph(inner, { input: () => 2, apply: () => ({ log: ["b"] }) }),
    review: async (ctx) => {
      const first = await ctx.interrupt({ ask: "One?", choices: ["denied", "approved"] });
      const second = await ctx.interrupt({ ask: "Two?", choices: ["denied", "approved"] });
      did(ctx);
      return { log: [first.outcome, second.outcome, String(await ctx.store.get("prefix", "a"))] };
    },
    last: (ctx) => {
      did(ctx);
      return { log: ["last"] };
    },
  },
  edges: { plan: { to: ["a", "b"] }, a: "review", b: "review", review: "last", last: "end" },
  snapshotEvery: 2,
});
const begin: Journey = { round: 0, items: [], log: [], ok: false };

const { url, schema, pool } = testSchema();
const store = openPostgres(url, { schema });
let node: Node;
beforeAll(async () => {
  await store.migrate();
  node = await createNode({ store, ...QUICK, programs: [journey, detour, sideBySide] });
});
afterAll(async () => {
  await node.stop();
  await store.close();
});

const entriesOf = async (id: string) => (await store.journal.read(id))!.entries;
const recorded = (entries: readonly JournalEntry[]) =>
  entries.filter(({ kind }) => kind === "node" || kind === "item").map(({ name, key }) => `${name}:${key}`);

/** Denies the first round, approves the second, sends the signal: whatever the parked run waits for. Resolves when it has ended. */
async function attend(run: RunHandle<unknown>, after = 0): Promise<unknown> {
  for await (const event of run.watch({ after })) {
    if (event.type === "released" && event.as === "paused") await run.resume();
    if (event.type !== "released" || event.as !== "parked") continue;
    const entries = await entriesOf(run.id);
    const visits = entries.filter(({ kind }) => kind === "approval.begun").map(({ key }) => key!);
    const taken = entries.filter(({ kind }) => kind === "take").map(({ key }) => key);
    const open = visits.filter((visit) => !taken.includes(`wait:review:${visit}`)).at(-1);
    const choice = open === "1" ? "denied" : "approved";
    if (open) {
      expect(ran.some(({ runId, what }) => runId === run.id && ["pay:1", "last:1"].includes(what))).toBe(false);
      await run.decide("review", { choice, by: "ann", nth: open }).catch(() => {});
    } else await run.signal(go, "ben", { id: "once" }).catch(() => {});
  }
  return run.result(soon);
}

test("a run continues from every prefix of its journal with what is left, once, to the same result", async () => {
  const whole = await node.start(journey, begin);
  await attend(whole);
  const log = await entriesOf(whole.id);
  expect(log.length).toBeGreaterThan(40);
  await expectSameFromEveryPrefix(whole, log, 1);
  expectSnapshotsToBeTheFold(whole.id, log);
});

test("a fork and a rewound run continue from every prefix, too", async () => {
  const failed = await node.start(detour, { bad: true, log: [] });
  await expect(failed.result(soon)).rejects.toThrow("bad");
  const forked = await node.graphs.fork(detour, failed.id, { from: "each", state: { bad: false } });
  await attend(forked);
  await expectSameFromEveryPrefix(forked, await entriesOf(forked.id), 1);
  await node.graphs.rewind(detour, failed.id, { to: "each", by: "ann", why: "bad", state: { bad: false } });
  await attend(failed);
  const log = await entriesOf(failed.id);
  await expectSameFromEveryPrefix(failed, log, log.findIndex(({ kind }) => kind === "retried") + 1);
});

test("a fan-out with questions, kept values and a breakpoint continues from every prefix", async () => {
  const options = { breakpoints: { before: ["last"], after: ["b/count"] } } as const;
  const whole = await node.graphs.start(sideBySide, { bad: false, log: [] }, options);
  expect(await attend(whole)).toMatchObject({ log: ["a", "b", "denied", "approved", "1", "last"] });
  const log = await entriesOf(whole.id);
  expect(log.filter(({ kind }) => kind === "breakpoint")).toHaveLength(3);
  await expectSameFromEveryPrefix(whole, log, 1);
});

/** Cut behind each entry from `first` on, the run does what is left and nothing that is recorded. */
async function expectSameFromEveryPrefix(whole: RunHandle<unknown>, log: readonly JournalEntry[], first: number) {
  const result = await whole.result(soon);
  const everything = recorded(log).sort();
  expect(new Set(everything).size).toBe(everything.length);
  const lengths = Array.from({ length: log.length - first }, (_, i) => first + i);
  await Promise.all(
    lengths.map(async (length) => {
      const run = await startLater(log);
      await cutTo(whole.id, run.id, length);
      const before = recorded(log.slice(0, length));
      expect(await attend(run, length)).toEqual(result);
      expect(recorded(await entriesOf(run.id)).sort()).toEqual(everything);
      const again = ran.filter(({ runId }) => runId === run.id).map(({ what }) => what);
      expect(again.filter((what) => before.includes(what))).toEqual([]);
      expect(new Set(again).size).toBe(again.length);
    }),
  );
}

function startLater([start]: readonly JournalEntry[]): Promise<RunHandle<unknown>> {
  const later = { delay: "1h" } as const;
  if (start!.name === "side-by-side") return node.start(sideBySide, { bad: false, log: [] }, later);
  return start!.name === "detour"
    ? node.start(detour, { bad: true, log: [] }, later)
    : node.start(journey, begin, later);
}

/** A snapshot holds exactly what its journal holds: a reader that continues from it has the same state. */
function expectSnapshotsToBeTheFold(runId: string, log: readonly JournalEntry[]): void {
  const options = { plan: journey.plan, codecs: codecs(), runId, baseSeq: 0 };
  const snapshots = log.filter(({ kind }) => kind === "snapshot");
  expect(snapshots.length).toBeGreaterThan(3);
  for (const snapshot of snapshots) {
    const others = log.filter(({ seq, kind }) => seq < snapshot.seq && kind !== "snapshot");
    const [read, folded] = [fold([snapshot], options), fold(others, options)].map((memory) => {
      const mail = memory.mail.map(({ name, key, payload }) => ({ name, key, payload }));
      const { spent, iterations, recorded, since, calls, results } = memory;
      return { frames: [...memory.frames], mail, spent, iterations, recorded, since, calls, results: results.size };
    });
    expect(read).toEqual(folded);
  }
}

/** As if the holder had died when its last commit of these entries was written. */
async function cutTo(from: string, to: string, length: number): Promise<void> {
  await pool.query(
    `with begun as (
       update ${schema}.journal j set data = o.data, codec = o.codec, at = o.at from ${schema}.journal o
       where j.run_id = $2::uuid and j.seq = 1 and o.run_id = $1::uuid and o.seq = 1
     ), copied as (
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
