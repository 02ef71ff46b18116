// Lists of runs for people: pages, filters, counts; nothing of other envs (S18, S21).

import { RUN_STATES } from "../../../kernel/run/run-state.js";
import type { RunFilter } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { rejects, same } from "../expect.js";
import { complete, fail, handBack, park, pause, type Scene } from "../scene.js";

async function idsOf(s: Scene, filter: Partial<RunFilter> = {}) {
  const { runs } = await s.store.runs.list({ env: s.env, ...filter }, { limit: 100 });
  return runs.map(({ id }) => id);
}

async function inQueue(s: Scene, queue: string) {
  return { groupIds: await s.store.runs.groupIds([s.group({ queue })]) };
}

export const listCases = cases("lists", {
  "the newest come first": async (s) => {
    const runs = Array.from({ length: 4 }, () => s.newRun());
    await s.store.runs.insert([runs[2]!, runs[0]!, runs[3]!, runs[1]!]);
    same(await idsOf(s), runs.map(({ id }) => id).reverse(), "ids");
  },

  "pages follow each other without gap or repeat": async (s) => {
    const runs = Array.from({ length: 5 }, () => s.newRun());
    await s.store.runs.insert(runs);
    const newest = runs.map(({ id }) => id).reverse();
    const first = await s.store.runs.list({ env: s.env }, { limit: 2 });
    same([first.runs.map(({ id }) => id), first.next], [newest.slice(0, 2), newest[1]], "first page");
    const second = await s.store.runs.list({ env: s.env }, { limit: 2, before: newest[1]! });
    same([second.runs.map(({ id }) => id), second.next], [newest.slice(2, 4), newest[3]], "second page");
    const last = await s.store.runs.list({ env: s.env }, { limit: 2, before: newest[3]! });
    same([last.runs.map(({ id }) => id), last.next], [newest.slice(4), null], "last page");
    const whole = await s.store.runs.list({ env: s.env }, { limit: 5 });
    same([whole.runs.length, whole.next], [5, null], "a page that just fits");
  },

  "an empty env": async (s) => {
    same(await s.store.runs.list({ env: s.env }, { limit: 10 }), { runs: [], next: null }, "list");
    same(await s.store.runs.count({ env: s.env }), {}, "count");
  },

  "a page without size is refused": async (s) => {
    for (const limit of [0, -1, 1.5]) await rejects(s.store.runs.list({ env: s.env }, { limit }), `limit ${limit}`);
  },

  "a page before what is no id, and filters that are no text, are refused": async (s) => {
    for (const before of ["x", "", "a\0b"]) {
      await rejects(s.store.runs.list({ env: s.env }, { limit: 1, before }), `before ${JSON.stringify(before)}`);
    }
    for (const field of ["env", "stack", "queue", "program"]) {
      const filter = { env: s.env, [field]: "a\0b" };
      await rejects(s.store.runs.list(filter, { limit: 1 }), `list by ${field}`);
      await rejects(s.store.runs.count(filter), `count by ${field}`);
    }
  },

  "filters by stack, queue, program and state": async (s) => {
    const plain = await s.insert();
    const blue = await s.insert({ group: { stack: "blue", program: "p" } });
    const other = await s.insert({ group: { queue: "q" } });
    await s.store.runs.cancel(other.id, { by: "me" });
    same(await idsOf(s, { stack: "blue" }), [blue.id], "stack");
    same(await idsOf(s, { queue: "q" }), [other.id], "queue");
    same(await idsOf(s, { program: "p" }), [blue.id], "program");
    same(await idsOf(s, { states: ["waiting"] }), [blue.id, plain.id], "state");
    same(await idsOf(s, { states: ["waiting", "cancelled"], program: "work" }), [other.id, plain.id], "both");
    same(await idsOf(s, { states: [] }), [], "no state");
    same(await s.store.runs.count({ env: s.env, stack: "blue" }), { waiting: 1 }, "count of a stack");
    same(await s.store.runs.count({ env: s.env, states: ["cancelled"] }), { cancelled: 1 }, "count of a state");
  },

  "archived runs are shown apart": async (s) => {
    await s.accept(await s.start(), [complete]);
    const old = await idsOf(s);
    await s.store.runs.archive({ env: s.env, endedBeforeMs: 0, limit: 10 });
    const live = await s.insert();
    same(await idsOf(s), [live.id], "by default");
    same(await idsOf(s, { archived: false }), [live.id], "not archived");
    same(await idsOf(s, { archived: true }), old, "archived");
    same(await s.store.runs.count({ env: s.env, archived: true }), { completed: 1 }, "count of archived");
  },

  "other envs are not seen (S18)": async (s) => {
    const mine = await s.insert();
    await s.insert({ group: { env: `${s.env}-2` } });
    same(await idsOf(s), [mine.id], "list");
    same(await s.store.runs.count({ env: s.env }), { waiting: 1 }, "count");
  },

  "an unknown run": async (s) => {
    same(await s.store.runs.get(s.id()), null, "get");
  },

  "records are copies": async (s) => {
    const { id } = await s.insert();
    const record = await s.run(id);
    Object.assign(record, { state: "dead" });
    Object.assign(record.group, { queue: "other" });
    same((await s.run(id)).state, "waiting", "state");
    same((await s.run(id)).group.queue, "work", "queue");
  },

  "every run is in one state and none is lost (S21)": async (s) => {
    const settles = [complete, fail(), fail("dead"), handBack, park(), pause];
    for (let round = 0; round < 2; round++) {
      for (const effect of settles) await s.accept(await s.start(), [effect]);
      await s.store.runs.archive({ env: s.env, endedBeforeMs: 0, limit: 2 });
    }
    await s.claim();
    const live = await s.store.runs.count({ env: s.env });
    const archived = await s.store.runs.count({ env: s.env, archived: true });
    const total = RUN_STATES.reduce((sum, state) => sum + (live[state] ?? 0) + (archived[state] ?? 0), 0);
    same(total, 2 * settles.length, "runs in all states");
    same((await idsOf(s)).length + (await idsOf(s, { archived: true })).length, total, "runs listed");
  },

  "filters by attributes, with pages": async (s) => {
    const eu = { region: "eu", cents: 1 };
    const runs = [];
    for (const attributes of [eu, { region: "us" }, { ...eu, cents: 2 }, eu]) runs.push(await s.insert({ attributes }));
    const [first, , third, last] = runs.map(({ id }) => id);
    same(await idsOf(s, { attributes: { region: "eu" } }), [last, third, first], "one attribute");
    same(await idsOf(s, { attributes: { region: "eu", cents: 1 } }), [last, first], "two attributes");
    same(await idsOf(s, { attributes: { cents: "1" } }), [], "a text is no number");
    same(await idsOf(s, { attributes: { region: "eu" }, states: ["failed"] }), [], "with a state");
    same(await idsOf(s, { attributes: { region: "eu" }, program: "other" }), [], "with a program");
    const page = await s.store.runs.list({ env: s.env, attributes: { region: "eu" } }, { limit: 2 });
    const next = await s.store.runs.list(
      { env: s.env, attributes: { region: "eu" } },
      { limit: 2, before: page.next! },
    );
    same([page.next, next.runs.map(({ id }) => id), next.next], [third, [first], null], "pages");
    same(await s.store.views.count({ env: s.env, attributes: { region: "eu" } }, 2), { n: 2, atLeast: true }, "count");
  },

  "filters by attributes together with a state, a time and the archive": async (s) => {
    const start = (region: string, more = {}) => s.start({ attributes: { region, paid: true, ...more } });
    const [failed, done, kept, elsewhere] = [
      await start("eu"),
      await start("eu"),
      await start("eu"),
      await start("us"),
    ];
    for (const claim of [failed, elsewhere]) await s.accept(claim, [fail()]);
    for (const claim of [done, kept]) await s.accept(claim, [complete]);
    await s.store.runs.archive({ env: s.env, endedBeforeMs: 0, runIds: [kept.runId], limit: 1 });
    const eu = { region: "eu" };
    same(await idsOf(s, { attributes: eu, states: ["failed"] }), [failed.runId], "failed");
    same(await idsOf(s, { attributes: { paid: true, ...eu }, states: ["failed"] }), [failed.runId], "two attributes");
    same(await idsOf(s, { attributes: eu, states: ["failed", "completed"] }), [done.runId, failed.runId], "two states");
    same(await idsOf(s, { attributes: eu, states: ["running", "paused"] }), [], "states without runs");
    same(await idsOf(s, { attributes: eu, archived: true }), [kept.runId], "archived");
    same(await idsOf(s, { attributes: eu, archived: true, states: ["failed"] }), [], "archived and failed");
    same((await idsOf(s, { attributes: eu, from: 1 })).length, 2, "since long ago");
    same(await idsOf(s, { attributes: eu, to: 1 }), [], "until long ago");
    same(await idsOf(s, { attributes: eu, states: [] }), [], "no state");
  },

  "filters by the beginning of a key, whatever its characters": async (s) => {
    const keys = [
      "a",
      "a~",
      "a~b",
      "ab",
      "a\u00fc",
      "a\u00fc1",
      "a\u{1f600}",
      "a}",
      "b",
      "A",
      "\u{10ffff}",
      "\u{10ffff}z",
    ];
    const runs = [];
    for (const key of keys) runs.push({ key, id: (await s.insert({ key: s.newKey({ key }) })).id });
    for (const prefix of [...keys, "a}z", "~", " "]) {
      const expected = runs.filter(({ key }) => key.startsWith(prefix)).map(({ id }) => id);
      same(await idsOf(s, { keyPrefix: prefix }), expected.toReversed(), JSON.stringify(prefix));
    }
  },

  "filters by key and by parent": async (s) => {
    const keyed = await s.insert({ key: s.newKey({ key: "order-1" }) });
    await s.insert({ key: s.newKey({ key: "mail-1" }) });
    same(await idsOf(s, { keyPrefix: "order-" }), [keyed.id], "key");
    const parent = await s.start();
    const child = s.newRun();
    await s.accept(parent, [{ kind: "enqueue", name: "child", run: child }]);
    same(await idsOf(s, { parent: parent.runId }), [child.id], "parent");
    same(await idsOf(s, { parent: child.id }), [], "a run without children");
  },

  "filters by deferral, whether a node has taken the run or not": async (s) => {
    await s.start();
    const run = await s.insert({ deferred: { by: "host-1", expiresInMs: 60_000 } });
    same(await idsOf(s, { deferred: true }), [run.id], "pending");
    await s.claimOne();
    same(await idsOf(s, { deferred: true }), [run.id], "taken");
    same(await idsOf(s, { deferred: true, states: ["waiting"] }), [], "with a state");
    await rejects(s.store.runs.list({ env: s.env, deferred: false as never }, { limit: 1 }), "false");
  },

  "every state is listed, alone and with others": async (s) => {
    const limits = [{ kind: "serial", key: "one", max: 1 } as const];
    await s.insert({ limits });
    const held = await s.insert({ limits });
    const [done, failed, parked] = [
      await s.start({ group: { queue: "a" } }, await inQueue(s, "a")),
      await s.start({ group: { queue: "b" } }, await inQueue(s, "b")),
      await s.start({ group: { queue: "c" } }, await inQueue(s, "c")),
    ];
    await s.accept(done, [complete]);
    await s.accept(failed, [fail()]);
    await s.accept(parked, [park()]);
    const all = await idsOf(s);
    const expected = new Map([
      ["held", held.id],
      ["completed", done.runId],
      ["failed", failed.runId],
      ["parked", parked.runId],
    ] as const);
    for (const [state, id] of expected) same(await idsOf(s, { states: [state] }), [id], state);
    same(await idsOf(s, { states: RUN_STATES }), all, "all states");
  },
});
