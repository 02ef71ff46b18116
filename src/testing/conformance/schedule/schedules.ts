// Schedules: declared once, decided once, with their runs or without.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type {
  DeclaredSchedule,
  Fire,
  ScheduleDeclaration,
  ScheduleRecord,
} from "../../../store/contract/schedule/schedules.js";
import { cases } from "../case.js";
import { holds, matches, rejects, same, some } from "../expect.js";
import type { Scene } from "../scene.js";

const MINUTE = 60_000;

function schedule(s: Scene, more: Partial<DeclaredSchedule> = {}): DeclaredSchedule {
  return { id: s.id(), group: s.group(), key: "every 1m", spec: '{"kind":"every"}', ...more };
}

function declare(s: Scene, schedules: readonly DeclaredSchedule[], more: Partial<ScheduleDeclaration> = {}) {
  const said = { env: s.env, stack: null, programs: ["work"], removeAfterMs: null };
  return s.store.schedules.declare({ ...said, schedules, ...more });
}

/** A declared schedule as it is stored. */
async function declared(s: Scene, more: Partial<DeclaredSchedule> = {}): Promise<ScheduleRecord> {
  const one = schedule(s, more);
  same(await declare(s, [one]), [one.id], "ids");
  return read(s, one.id);
}

async function read(s: Scene, id: string): Promise<ScheduleRecord> {
  const { schedules } = await s.store.schedules.list(s.env);
  return some(
    schedules.find((one) => one.id === id),
    "the schedule",
  );
}

function windowRun(s: Scene, window: number, more: Partial<Omit<NewRun, "group">> = {}): NewRun {
  return s.newRun({ key: s.newKey({ key: `w-${window}`, lifetime: "archived", onMismatch: "skip" }), ...more });
}

/** The next window of the schedule, with its run. */
function fireOf(s: Scene, { id, last }: ScheduleRecord, more: Partial<Fire> = {}): Fire {
  const window = last + MINUTE;
  const runs = [windowRun(s, window)];
  return { scheduleId: id, seenLast: last, last: window, next: window + MINUTE, runs, ...more };
}

async function runCount(s: Scene): Promise<number> {
  const counts = await s.store.runs.count({ env: s.env });
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}

export const scheduleCases = cases("schedules", {
  "a new schedule begins now, and is to be decided on at once": async (s) => {
    const { now: before } = await s.store.schedules.list(s.env);
    const row = await declared(s, { group: s.group({ queue: "slow", version: "2" }) });
    const { now: after } = await s.store.schedules.list(s.env);
    holds(row.anchor >= before && row.anchor <= after, "the anchor is the store's now");
    matches(row, { last: row.anchor, next: row.anchor, paused: null, key: "every 1m" }, "row");
    same(row.group, s.group({ queue: "slow", version: "2" }), "group");
    same((await s.store.schedules.due([row.id])).schedules, [row], "due");
  },

  "declared again it keeps its id, its anchor and what was decided": async (s) => {
    const row = await declared(s);
    const next = fireOf(s, row);
    await s.store.schedules.fire([next]);
    await s.advance(5);
    const again = schedule(s, { group: s.group({ queue: "other", version: "3" }), spec: '{"kind":"new"}' });
    same(await declare(s, [again]), [row.id], "ids");
    const now = await read(s, row.id);
    matches(now, { anchor: row.anchor, last: next.last, next: next.next, spec: '{"kind":"new"}' }, "row");
    same(now.group, again.group, "the last declaration counts for its group");
    holds(now.seenAt >= row.seenAt + 5, "it was seen again");
  },

  "ids are in the order of the declaration": async (s) => {
    const [a, b, c] = ["b", "c", "a"].map((key) => schedule(s, { key }));
    same(await declare(s, [a!, b!, c!]), [a!.id, b!.id, c!.id], "ids");
    same(await declare(s, [schedule(s, { key: "a" }), schedule(s, { key: "b" })]), [c!.id, a!.id], "known ones");
    const { schedules } = await s.store.schedules.list(s.env);
    same(
      schedules.map(({ key }) => key),
      ["a", "b", "c"],
      "the list goes by name",
    );
  },

  "stacks and envs have their own": async (s) => {
    const blue = schedule(s, { group: s.group({ stack: "blue" }) });
    const plain = schedule(s);
    await declare(s, [blue], { stack: "blue" });
    await declare(s, [plain]);
    const { schedules } = await s.store.schedules.list(s.env);
    same(
      schedules.map(({ id, group }) => [id, group.stack]),
      [
        [plain.id, null],
        [blue.id, "blue"],
      ],
      "list",
    );
    same((await s.store.schedules.list(`${s.env}-x`)).schedules, [], "another env");
  },

  "what no node declares any more is removed, and only where its program is served": async (s) => {
    const old = await declared(s, { key: "old" });
    const kept = await declared(s, { key: "kept" });
    const foreign = schedule(s, { group: s.group({ program: "foreign" }) });
    await declare(s, [foreign], { programs: ["foreign"] });
    const blue = schedule(s, { group: s.group({ stack: "blue" }) });
    await declare(s, [blue], { stack: "blue" });
    await s.advance(50);
    await declare(s, [schedule(s, { key: "kept" })], { removeAfterMs: 60 });
    same((await s.store.schedules.list(s.env)).schedules.length, 4, "seen not long ago");
    await s.advance(20);
    same(await declare(s, [schedule(s, { key: "kept" })], { removeAfterMs: 60 }), [kept.id], "ids");
    const left = (await s.store.schedules.list(s.env)).schedules.map(({ id }) => id);
    holds(!left.includes(old.id), "the old one is gone");
    same(new Set(left), new Set([kept.id, foreign.id, blue.id]), "what is left");
  },

  "a node never removes what it declares itself, however long no node was running": async (s) => {
    const row = await declared(s);
    await s.advance(100);
    same(await declare(s, [schedule(s)], { removeAfterMs: 0 }), [row.id], "ids");
    matches(await read(s, row.id), { anchor: row.anchor, last: row.last }, "row");
  },

  "due returns those that are to be decided, and how long until the next": async (s) => {
    const [late, soon, never] = [
      await declared(s, { key: "late" }),
      await declared(s, { key: "soon" }),
      await declared(s, { key: "never" }),
    ];
    const { now } = await s.store.schedules.list(s.env);
    const at = ({ id, last }: ScheduleRecord, next: number | null) => {
      return { scheduleId: id, seenLast: last, last, next, runs: [] };
    };
    await s.store.schedules.fire([at(soon, now + 40_000), at(never, null)]);
    const due = await s.store.schedules.due([late.id, soon.id, never.id, s.id()]);
    same(
      due.schedules.map(({ id }) => id),
      [late.id],
      "due",
    );
    holds(due.now >= now, "the store's clock");
    holds(due.nextMs !== null && due.nextMs > 20_000 && due.nextMs <= 40_000, "how long until the next");
    same((await s.store.schedules.due([never.id])).nextMs, null, "never");
    matches(await s.store.schedules.due([]), { schedules: [], nextMs: null }, "of none");
  },

  "a fire moves the schedule and starts its runs": async (s) => {
    const row = await declared(s);
    const fire = fireOf(s, row);
    same(await s.store.schedules.fire([fire]), [{ outcome: "fired", runIds: [fire.runs[0]!.id] }], "answer");
    matches(await read(s, row.id), { last: fire.last, next: fire.next, anchor: row.anchor }, "row");
    const claim = await s.claimOne();
    matches(claim, { runId: fire.runs[0]!.id, input: fire.runs[0]!.input }, "the run");
    same(await s.log(claim.runId), ["start"], "its journal");
  },

  "of two that decided from the same row one fires, the other starts nothing": async (s) => {
    const row = await declared(s);
    const [first, second] = [
      fireOf(s, row),
      fireOf(s, row, { last: row.last + 2 * MINUTE, runs: [windowRun(s, row.last + 2 * MINUTE)] }),
    ];
    same((await s.store.schedules.fire([first]))[0]?.outcome, "fired", "the first");
    same(await s.store.schedules.fire([second]), [{ outcome: "moved" }], "the second");
    matches(await read(s, row.id), { last: first.last }, "row");
    same(await runCount(s), 1, "runs");
  },

  "a fire that is repeated answers what the first one did, and does nothing": async (s) => {
    const fire = fireOf(s, await declared(s));
    const answer = await s.store.schedules.fire([fire]);
    same(await s.store.schedules.fire([fire]), answer, "repeated");
    same(await runCount(s), 1, "runs");
  },

  "a fire without runs moves the schedule": async (s) => {
    const row = await declared(s);
    const skip = fireOf(s, row, { runs: [], next: null });
    same(await s.store.schedules.fire([skip]), [{ outcome: "fired", runIds: [] }], "answer");
    matches(await read(s, row.id), { last: skip.last, next: null }, "row");
    same(await runCount(s), 0, "runs");
  },

  "a window whose key is taken starts nothing, however its run ended": async (s) => {
    const row = await declared(s);
    const fire = fireOf(s, row);
    const window = fire.last;
    await s.insert({ key: s.newKey({ key: `w-${window}`, lifetime: "live" }) });
    await s.store.runs.cancel((await s.claimOne()).runId, { by: "ann" });
    const both = fireOf(s, row, { runs: [windowRun(s, window), windowRun(s, window + 1)] });
    same(await s.store.schedules.fire([both]), [{ outcome: "fired", runIds: [both.runs[1]!.id] }], "answer");
    same(await runCount(s), 2, "runs");
  },

  "many schedules fire in one call, each on its own": async (s) => {
    const rows = [await declared(s, { key: "a" }), await declared(s, { key: "b" }), await declared(s, { key: "c" })];
    const fires = rows.map((row, i) => fireOf(s, row, { runs: [windowRun(s, i), windowRun(s, 10 + i)] }));
    fires[1] = { ...fires[1]!, seenLast: rows[1]!.last - 1 };
    const answers = await s.store.schedules.fire(fires);
    same(
      answers.map(({ outcome }) => outcome),
      ["fired", "moved", "fired"],
      "outcomes",
    );
    await s.advance(1);
    const claimed = (await s.claim({ limit: 10 })).map(({ runId }) => runId);
    const started = [fires[0]!, fires[2]!].flatMap(({ runs }) => runs.map(({ id }) => id));
    same(claimed, started, "the runs, in order");
    same(await s.store.schedules.fire([fireOf(s, { ...rows[0]!, id: s.id() })]), [{ outcome: "moved" }], "unknown");
    same(await s.store.schedules.fire([]), [], "none");
  },

  "runs of a schedule keep to their limits": async (s) => {
    const limits = [{ kind: "slots", key: "slots work", max: 1 } as const];
    const row = await declared(s);
    const runs = [windowRun(s, 1, { limits }), windowRun(s, 2, { limits })];
    await s.store.schedules.fire([fireOf(s, row, { runs })]);
    same(
      await Promise.all(runs.map(async ({ id }) => (await s.run(id)).state)),
      ["waiting", "held"],
      "one is admitted at once",
    );
  },

  "a run that is to try goes in with its probe or not at all": async (s) => {
    const [a, b, c] = [
      await declared(s, { key: "a" }),
      await declared(s, { key: "b" }),
      await declared(s, { key: "c" }),
    ];
    const probing = (row: ScheduleRecord, n: number): Fire => {
      const fire = fireOf(s, row, { runs: [windowRun(s, n), windowRun(s, 10 + n)] });
      const { id: runId } = fire.runs[0]!;
      return { ...fire, probe: { env: s.env, program: "work", opening: "x:0", probe: 1, runId } };
    };
    const [first, second] = [probing(a, 1), probing(b, 2)];
    const late = { ...probing(c, 3), seenLast: c.last - 1 };
    same(await s.store.schedules.fire([late]), [{ outcome: "moved" }], "too late");
    same(await s.store.breakers.isProbe(late.probe!.runId), false, "it took no probe");
    const runIds = first.runs.map(({ id }) => id);
    same(await s.store.schedules.fire([first]), [{ outcome: "fired", runIds }], "the first");
    same(await s.store.schedules.fire([first]), [{ outcome: "fired", runIds }], "the same again");
    same(await s.store.breakers.isProbe(first.probe!.runId), true, "it is the one");
    const rest = [second.runs[1]!.id];
    same(await s.store.schedules.fire([second]), [{ outcome: "fired", runIds: rest }], "another, without its probe");
    same(await runCount(s), 3, "runs");
  },

  "a paused schedule is not due and fires nothing until it is resumed": async (s) => {
    const row = await declared(s);
    same(await s.store.schedules.pause(s.env, "work", "ann"), 1, "paused");
    await s.advance(5);
    same(await s.store.schedules.pause(s.env, row.id, "bob"), 1, "paused again");
    same((await read(s, row.id)).paused?.by, "ann", "the first pause stays");
    matches(await s.store.schedules.due([row.id]), { schedules: [], nextMs: null }, "due");
    same(await s.store.schedules.fire([fireOf(s, row)]), [{ outcome: "moved" }], "fire");
    same(await runCount(s), 0, "runs");
    await declare(s, [schedule(s)]);
    same((await read(s, row.id)).paused?.by, "ann", "a restart does not resume it");
    same(await s.store.schedules.resume(s.env, row.id), 1, "resumed");
    same((await s.store.schedules.due([row.id])).schedules.length, 1, "due again");
    same((await s.store.schedules.fire([fireOf(s, row)]))[0]?.outcome, "fired", "fires again");
  },

  "a name means all schedules of its program, an id one of them": async (s) => {
    const [a, b] = [await declared(s, { key: "a" }), await declared(s, { key: "b" })];
    same(await s.store.schedules.pause(s.env, a.id, "ann"), 1, "by id");
    same((await read(s, b.id)).paused, null, "the other");
    same(await s.store.schedules.pause(s.env, "work", "ann"), 2, "by name");
    same(await s.store.schedules.resume(s.env, "work"), 2, "resumed by name");
    same(await s.store.schedules.pause(s.env, "nobody", "ann"), 0, "an unknown name");
    same(await s.store.schedules.resume(`${s.env}-x`, a.id), 0, "in another env");
  },

  "what cannot be stored is refused, and nothing is written": async (s) => {
    const row = await declared(s);
    const declaring = (more: Partial<DeclaredSchedule>) => declare(s, [schedule(s, more)]);
    await rejects(declaring({ id: "x" }), "a bad id");
    await rejects(declaring({ key: "" }), "no key");
    await rejects(declaring({ spec: "\0" }), "a bad spec");
    await rejects(declaring({ group: s.group({ program: "other" }) }), "a program that is not declared");
    await rejects(declaring({ group: s.group({ env: "elsewhere" }) }), "another env");
    await rejects(declare(s, [schedule(s), schedule(s)]), "one of them twice");
    const bad: Partial<Fire>[] = [
      { scheduleId: "x" },
      { last: Number.NaN },
      { next: 0.5 },
      { runs: [s.newRun()] },
      { runs: [windowRun(s, 1, { crashLimit: 0 })] },
      { probe: { env: s.env, program: "work", opening: "x:0", probe: 0, runId: s.id() } },
    ];
    for (const more of bad) await rejects(s.store.schedules.fire([fireOf(s, row, more)]), JSON.stringify(more));
    await rejects(s.store.schedules.fire([fireOf(s, row), fireOf(s, row)]), "a schedule twice");
    await rejects(s.store.schedules.pause(s.env, "a b", "ann"), "a bad name");
    await rejects(s.store.schedules.due(["x"]), "a bad id to be due");
    matches(await read(s, row.id), { last: row.last, paused: null }, "row");
    same(await runCount(s), 0, "runs");
  },
});
