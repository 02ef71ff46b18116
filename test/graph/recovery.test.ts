// Runs that resume on another node: what is read, what is rejected, what a dead process costs. On PostgreSQL, whose rows a test can damage.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { createClient, signal } from "../../src/index.js";
import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";
import { quarantinedWith } from "../harness/quarantined.js";
import { QUICK } from "../workflow/node-suite.js";
import { poison } from "./poison.js";

const { url, schema, pool } = testSchema();
const store = openPostgres(url, { schema });
const limit = { timeout: "20s" } as const;
const hang = () => new Promise<never>(() => {});
beforeAll(() => store.migrate());
afterAll(() => store.close());

const S = state<{ n: number; log: string[] }>({ log: append() });
const begin = { n: 0, log: [] };

/** A node whose process "dies": nothing it does reaches the run any more, and its lease expires soon. */
const dying = (...programs: Parameters<typeof createNode>[0]["programs"]) =>
  createNode({ store, timing: { ...QUICK.timing, lease: 300, renewEvery: 250 }, programs });
const entriesOf = async (id: string) => (await store.journal.read(id))!.entries;

/** Many entries, then a loop to `stop`, where it hangs or ends. */
const loop = (name: string, stop: number, atStop: () => Promise<void>, snapshotEvery = 100, items = 0) =>
  graph(name, {
    state: S,
    start: "many",
    nodes: {
      many: S.map(
        () => Array.from({ length: items }, String),
        (_ctx, item) => item,
        { into: "log", limit: 1000 },
      ),
      again: async (_ctx, s) => {
        if (s.n === stop) await atStop();
        return { n: s.n + 1 };
      },
    },
    edges: { many: "again", again: { to: ["again", "end"], choose: (s) => (s.n > stop ? "end" : "again") } },
    snapshotEvery,
    output: ({ n, log }) => ({ n, items: log.length }),
  });

async function stuck(name: string, stop: number, snapshotEvery?: number, items?: number): Promise<string> {
  let isThere = () => {};
  const there = new Promise<void>((resolve) => (isThere = resolve));
  const hangs = () => {
    isThere();
    return hang();
  };
  const program = loop(name, stop, hangs, snapshotEvery, items);
  const node = await dying(program);
  const { id } = await node.start(program, begin);
  await there;
  await node.stop({ grace: 10 });
  return id;
}

/** Runs it to its end, and returns which parts of its journal were read. */
async function goOn(id: string, program: ReturnType<typeof loop>) {
  const reads: { after?: number; limit?: number }[] = [];
  const read = (run: string, part = {}) => {
    reads.push(part);
    return store.journal.read(run, part);
  };
  const watched = { ...store, journal: { ...store.journal, read } } as typeof store;
  const node = await createNode({ store: watched, ...QUICK, programs: [program] });
  await expect.poll(async () => (await store.runs.get(id))!.state, { timeout: 20_000 }).toBe("completed");
  const [last] = (await entriesOf(id)).slice(-1);
  await node.stop();
  return { reads, result: JSON.parse(last!.payload!.data) };
}

test("a run with hundreds of entries continues from its last snapshot: the entries read do not grow with it", async () => {
  const id = await stuck("long", 5, 3, 600);
  const { seq } = (await store.runs.get(id))!;
  expect(seq).toBeGreaterThan(600);
  expect(
    await goOn(
      id,
      loop("long", 5, async () => {}, 3, 600),
    ),
  ).toEqual({
    reads: [{ after: seq - 250, limit: 250 }],
    result: { n: 6, items: 600 },
  });
});

test("a run whose snapshots are far apart is read back page by page", async () => {
  const id = await stuck("sparse", 5, 10_000, 600);
  const { seq } = (await store.runs.get(id))!;
  const { reads, result } = await goOn(
    id,
    loop("sparse", 5, async () => {}, 10_000, 600),
  );
  expect(reads.map(({ after }) => after)).toEqual([seq - 250, seq - 500, 0]);
  expect(result).toEqual({ n: 6, items: 600 });
  const keys = (await entriesOf(id)).filter(({ name }) => name === "again").map(({ key }) => key);
  expect(keys).toEqual(["1", "2", "3", "4", "5", "6"]);
});

test.each([
  ["an entry is missing", "delete from {s}.journal where run_id = $1 and seq = 5"],
  [
    "a snapshot knows of nodes that the journal does not have",
    `update {s}.journal set data = replace(data, '"recorded":3', '"recorded":300') where run_id = $1 and kind = 'snapshot'`,
  ],
])("%s: the run ends dead with that reason at once, and nothing of it is done again", async (name, damage) => {
  const program = name.replaceAll(" ", "-");
  const id = await stuck(program, 4, 3);
  await pool.query(damage.replace("{s}", schema), [id]);
  const { epoch } = (await store.runs.get(id))!;
  let calls = 0;
  const node = await createNode({ store, ...QUICK, programs: [loop(program, 4, async () => void calls++, 3)] });
  await expect.poll(async () => (await store.runs.get(id))!.state, { timeout: 20_000 }).toBe("dead");
  const record = (await store.runs.get(id))!;
  const reason = (await store.journal.read(id, { after: record.seq - 1 }))!.entries.at(-1)!.payload!;
  expect(JSON.parse(reason.data)).toMatchObject({ name: "JournalCorrupt", code: "JOURNAL_CORRUPT" });
  expect([calls, record.epoch]).toEqual([0, epoch + 1]);
  await node.stop();
});

const endedDead = async (id: string) => {
  await expect.poll(async () => (await store.runs.get(id))!.state, { timeout: 20_000 }).toBe("dead");
  const { seq } = (await store.runs.get(id))!;
  const reason = (await store.journal.read(id, { after: seq - 1 }))!.entries.at(-1)!.payload!;
  return JSON.parse(reason.data).code;
};
const lose = (id: string, ...seqs: number[]) =>
  pool.query(`delete from ${schema}.journal where run_id = $1 and seq = any($2)`, [id, seqs]);

test("a gap is found on whichever page it is; without a snapshot behind it nothing can be resumed", async () => {
  const id = await stuck("far", 5, 10_000, 600);
  await lose(id, 40);
  const program = loop("far", 5, async () => {}, 10_000, 600);
  const node = await createNode({ store, ...QUICK, programs: [program] });
  expect(await endedDead(id)).toBe("JOURNAL_CORRUPT");
  const choice = { by: "ann", why: "?" };
  await expect(node.graphs.recover(id, choice)).rejects.toMatchObject({ code: "NO_SNAPSHOT" });
  const whole = await node.start(program, begin);
  await expect(node.graphs.recover(whole.id, choice)).rejects.toThrow(/is whole/);
  await node.stop();
});

test("a person resumes a damaged run from the snapshot behind its last gap, and the rest runs once", async () => {
  const id = await stuck("chosen", 5, 3, 0);
  const snapshot = (await entriesOf(id)).findLast(({ kind }) => kind === "snapshot")!.seq;
  await lose(id, 2, snapshot - 1);
  const program = loop("chosen", 5, async () => {}, 3, 0);
  const node = await createNode({ store, ...QUICK, programs: [program] });
  expect(await endedDead(id)).toBe("JOURNAL_CORRUPT");
  // A plain retry does not choose: it finds the same gap.
  await node.dead.retry([id]);
  expect(await endedDead(id)).toBe("JOURNAL_CORRUPT");
  const run = await node.graphs.recover(id, { by: "ann", why: "the backup is older" });
  expect(await run.result({ timeout: "10s" })).toMatchObject({ n: 6 });
  const kept = (await store.journal.read(id, { after: snapshot }))!.entries;
  const { name, payload } = kept.findLast(({ kind }) => kind === "retried")!;
  expect([name, JSON.parse(payload!.data)]).toEqual([
    "ann",
    { resume: { from: snapshot }, why: "the backup is older" },
  ]);
  await node.stop();
});

test("a map whose process died does the items that are left, and none twice", async () => {
  const done: number[] = [];
  let block = true;
  let isThere = () => {};
  const there = new Promise<void>((resolve) => (isThere = resolve));
  const mapped = graph("mapped", {
    state: S,
    start: "each",
    nodes: {
      each: S.map(
        () => [0, 1, 2, 3, 4, 5],
        async (_ctx, item) => {
          if (item >= 3 && block) {
            isThere();
            await hang();
          }
          done.push(item);
          return String(item);
        },
        { into: "log", limit: 2 },
      ),
    },
    edges: { each: "end" },
  });
  const first = await dying(mapped);
  const run = await first.start(mapped, begin);
  await there;
  await expect.poll(async () => (await entriesOf(run.id)).filter(({ kind }) => kind === "item").length).toBe(3);
  await first.stop({ grace: 10 });
  block = false;
  const second = await createNode({ store, ...QUICK, programs: [mapped] });
  expect((await second.run<{ log: string[] }>(run.id).result(limit)).log).toEqual(["0", "1", "2", "3", "4", "5"]);
  expect(done.sort()).toEqual([0, 1, 2, 3, 4, 5]);
  await second.stop();
});

test("an early signal is delivered after a takeover, although a snapshot lies between", async () => {
  const woken = signal<string>("woken");
  let block = true;
  let isThere = () => {};
  const there = new Promise<void>((resolve) => (isThere = resolve));
  const patient = graph("patient", {
    state: S,
    start: "count",
    nodes: {
      count: async (_ctx, s) => {
        if (s.n === 8 && block) {
          isThere();
          await hang();
        }
        return { n: s.n + 1 };
      },
      bell: S.wait(woken, { apply: (_s, by) => ({ log: [by] }) }),
    },
    edges: { count: { to: ["count", "bell"], choose: (s) => (s.n < 10 ? "count" : "bell") }, bell: "end" },
    snapshotEvery: 3,
  });
  const first = await dying(patient);
  const run = await first.start(patient, begin, { delay: 100 });
  await run.signal(woken, "ann");
  await there;
  await first.stop({ grace: 10 });
  block = false;
  const second = await createNode({ store, ...QUICK, programs: [patient] });
  expect((await second.run<{ log: string[] }>(run.id).result(limit)).log).toEqual(["ann"]);
  const entries = await entriesOf(run.id);
  const lastSnapshot = entries.findLast(({ kind }) => kind === "snapshot")!;
  expect(entries.find(({ kind }) => kind === "take")!.seq).toBeLessThan(lastSnapshot.seq);
  await second.stop();
});

test("the timeout of a run counts from its start, on whatever node it is, and a gate does not stop it", async () => {
  const timed = graph("timed", {
    state: S,
    start: "gate",
    nodes: { gate: S.approval({ ask: () => "?", apply: () => ({ n: 1 }) }) },
    edges: { gate: "end" },
    limits: { timeout: 700 },
  });
  const first = await createNode({ store, ...QUICK, programs: [timed] });
  const run = await first.start(timed, begin);
  await expect.poll(async () => (await run.status()).state).toBe("parked");
  const { wakeAt } = await run.status();
  await first.stop();
  const second = await createNode({ store, ...QUICK, programs: [timed] });
  await expect(second.run(run.id).result(limit)).rejects.toMatchObject({ cause: { code: "TIMEOUT" } });
  const { createdAt, endedAt } = await run.status();
  expect(Math.abs(wakeAt! - createdAt - 700)).toBeLessThan(60);
  expect(endedAt! - createdAt).toBeGreaterThanOrEqual(699);
  await second.stop();
});

test("a gate that was asked keeps its deadline when its run is taken over", async () => {
  const gated = graph("gated", {
    state: S,
    start: "gate",
    nodes: { gate: S.approval({ ask: () => "?", timeout: 300, apply: (_s, d) => ({ log: [d.outcome] }) }) },
    edges: { gate: "end" },
  });
  const first = await createNode({ store, ...QUICK, programs: [gated] });
  const run = await first.start(gated, begin);
  await expect.poll(async () => (await run.status()).state).toBe("parked");
  await first.stop();
  const second = await createNode({ store, ...QUICK, programs: [gated] });
  expect((await second.run<{ log: string[] }>(run.id).result(limit)).log).toEqual(["expired"]);
  const entries = await entriesOf(run.id);
  expect(entries.filter(({ kind }) => kind === "approval.begun")).toHaveLength(1);
  await second.stop();
});

test("a node that reports progress and kills its process is dead at the crash limit, and its progress is reported once", async () => {
  const reclaimer = await createNode({ store, programs: [], timing: { ...QUICK.timing, presenceGrace: 100 } });
  const { id } = await createClient({ store }).start(poison, { n: 0 });
  await pool.query(`update ${schema}.runs set crash_limit = 2 where id = $1`, [id]);
  const script = compiled(join(import.meta.dirname, "poison.child.ts"));
  const children = Array.from({ length: 3 }, () => fork(script, [url, schema], { execArgv: [] }));
  const ends = children.map(async (child) => (await once(child, "exit"))[1]);
  await expect.poll(async () => (await store.runs.get(id))!.state, { timeout: 50_000 }).toBe("dead");
  for (const child of children) if (child.connected) child.disconnect();
  // The first one got as far as reporting progress. The next two did not.
  expect((await Promise.all(ends)).filter((signal) => signal === "SIGKILL")).toHaveLength(3);
  const entries = await entriesOf(id);
  expect(entries.filter(({ kind }) => kind === "progress")).toHaveLength(1);
  expect(entries.at(-1)).toMatchObject({ kind: "dead" });
  await reclaimer.stop();
}, 60_000);

test("a graph that lost the node its run is at quarantines the run, which continues when the node is back", async () => {
  const shape = <const N extends string>(second: N) =>
    graph("shape", {
      state: S,
      start: "gate",
      nodes: {
        gate: S.approval({ ask: () => "?", apply: () => ({ n: 1 }) }),
        ...({ [second]: () => ({ n: 2 }) } as Record<string, () => { n: number }>),
      } as Record<string, ReturnType<typeof S.approval>>,
      edges: { gate: second, [second]: { to: [second, "end"], choose: () => "end" } } as never,
    });
  const old = await createNode({ store, ...QUICK, programs: [shape("old")] });
  const run = await old.start(shape("old"), begin);
  await expect.poll(async () => (await run.status()).state).toBe("parked");
  await old.stop();
  // The run advances to a node that the next version does not have.
  const without = graph("shape", {
    state: S,
    start: "other",
    nodes: { other: () => ({ n: 9 }) },
    edges: { other: "end" },
  });
  const next = await createNode({ store, ...QUICK, programs: [without] });
  await next.run(run.id).decide("gate", { choice: "approved", by: "ann" });
  await expect.poll(() => quarantinedWith(store, run.id), { timeout: 10_000 }).toBe("GRAPH_CHANGED");
  await next.stop();
  const again = await createNode({ store, ...QUICK, programs: [shape("old")] });
  expect(await again.run(run.id).result(limit)).toMatchObject({ n: 2 });
  await again.stop();
});

test("clean restarts in the middle of a node hand its run back: no attempt and no crash are counted, and the run continues", async () => {
  let rounds = 0;
  const aborted: unknown[] = [];
  let began = () => {};
  const rolled = graph("rolled", {
    state: S,
    start: "work",
    nodes: {
      work: S.node({ retry: 1 }, async (ctx) => {
        if (rounds >= 4) return { n: ctx.attempt };
        began();
        return new Promise<never>((_, reject) => {
          ctx.signal.addEventListener("abort", () => {
            aborted.push((ctx.signal.reason as { code?: string }).code);
            reject(ctx.signal.reason);
          });
        });
      }),
    },
    edges: { work: "end" },
  });
  const { id } = await createClient({ store }).start(rolled, begin);
  await pool.query(`update ${schema}.runs set crash_limit = 1 where id = $1`, [id]);
  for (; rounds < 4; rounds++) {
    const there = new Promise<void>((resolve) => (began = resolve));
    const node = await createNode({ store, ...QUICK, programs: [rolled] });
    await there;
    await node.stop({ grace: 1 });
    expect(await store.runs.get(id)).toMatchObject({ state: "waiting", failures: 0, crashes: 0 });
  }
  const last = await createNode({ store, ...QUICK, programs: [rolled] });
  expect(await last.run(id).result(limit)).toMatchObject({ n: 1 });
  expect(aborted).toEqual(Array(4).fill("NODE_STOPPING"));
  await last.stop();
});
