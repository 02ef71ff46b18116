// The checkers of events and breakers are able to fail: each lie is noticed. A true history is not.

import { describe, expect, test } from "vitest";
import { checkGathered, checkWindows } from "../../src/simulator/check/events.js";
import { checkTables } from "../../src/simulator/check/tables.js";
import type { Matched, NewDebounced } from "../../src/store/contract/event/events.js";
import type { ClaimedRun } from "../../src/store/contract/run/runs.js";
import { done, Scene } from "./checkers-scene.js";

const WINDOW_MS = 100;
const DECLARATION = { incarnation: "00000000-0000-4000-8000-000000000001", env: "default", starting: true };
const SUBSCRIPTION: Matched = {
  ...{
    id: "script on x",
    scope: "script on x",
    env: "default",
    stack: null,
    event: "x",
    program: "script",
    queue: "q",
    version: null,
  },
  ...{ where: [{ kind: "a" }], subject: null, debounceMs: null, lifetime: "archived", crashLimit: 3, breaker: null },
  limits: [],
};
const QUESTION = { env: "default", program: "script", threshold: 1, halfOpenMs: 50 };

function eventOf(s: Scene, no: number, subject = "a"): NewDebounced {
  const run = s.newRun({ input: { codec: "json", data: JSON.stringify({ no }) } });
  return { run, ticket: { subscription: "script on x", subject, windowMs: WINDOW_MS } };
}

async function debounce(s: Scene, no: number): Promise<NewDebounced> {
  const one = eventOf(s, no);
  s.tell({ op: "events.debounce", args: [[one]], answer: await s.store.events.debounce([one]) });
  return one;
}

async function settle(s: Scene, claim: ClaimedRun): Promise<void> {
  const ticket = claim.debounce!;
  const answer = await s.store.events.settleDebounced(claim, claim.seq, ticket);
  s.tell({ op: "events.settleDebounced", args: [claim, claim.seq, ticket], answer: answer });
}

/** Two events, and the run that gathers them, claimed when its window has ended. */
async function gathered(s: Scene): Promise<ClaimedRun> {
  await debounce(s, 1);
  await debounce(s, 2);
  await s.world.advance(WINDOW_MS);
  return s.claim();
}

async function failed(s: Scene): Promise<string> {
  const { runId } = await s.inserted();
  const claim = { runId, epoch: 1, token: s.tables.runs.get(runId)!.token! };
  await s.commit(claim, { kind: "fail", as: "failed", reason: { codec: "json", data: "{}" } });
  return `${runId}:0`;
}

async function readBreaker(s: Scene): Promise<void> {
  s.tell({ op: "breakers.read", args: [[QUESTION]], answer: await s.store.breakers.read([QUESTION]) });
}

async function take(s: Scene, opening: string): Promise<void> {
  const request = { env: "default", program: "script", opening, probe: 1, runId: s.world.id() };
  s.tell({ op: "breakers.takeProbe", args: [request], answer: await s.store.breakers.takeProbe(request) });
}

const TRUE: readonly (readonly [what: string, story: (s: Scene) => unknown])[] = [
  [
    "a subject that begins with its last event, and again with the next",
    async (s) => {
      const claim = await gathered(s);
      await settle(s, claim);
      await settle(s, claim);
      await s.commit(await s.claim(), done("null"));
      await debounce(s, 3);
      await s.world.advance(WINDOW_MS / 2);
      await debounce(s, 4);
      await s.world.advance(WINDOW_MS / 2);
      await settle(s, await s.claim());
      await s.world.advance(WINDOW_MS / 2);
      await settle(s, await s.claim());
      await s.commit(await s.claim(), done("null"));
    },
  ],
  [
    "a breaker that opens, lets one run probe and closes",
    async (s) => {
      await readBreaker(s);
      const opening = await failed(s);
      await s.world.advance(1);
      await readBreaker(s);
      await s.world.advance(50);
      await readBreaker(s);
      await take(s, opening);
      await take(s, opening);
      await readBreaker(s);
      await s.commit(await s.inserted(), done("null"));
      await readBreaker(s);
    },
  ],
];

test.for(TRUE)("%s breaks nothing", async ([, story]) => {
  const s = new Scene();
  await story(s);
  checkTables(s.history);
  checkGathered(s.history);
  expect(s.history.violations).toEqual([]);
});

const LIES: readonly (readonly [invariant: string, lie: string, story: (s: Scene) => unknown])[] = [
  [
    "S10",
    "a declared subscription that an event does not find",
    (s) => {
      s.tell({ op: "events.subscribe", args: [{ ...DECLARATION, subscriptions: [SUBSCRIPTION] }], answer: 0 });
      const asked = { env: "default", stack: null, event: "x", plain: '{"kind":"a"}' };
      s.tell({ op: "events.match", args: [[asked]], answer: [[]] });
    },
  ],
  [
    "S10",
    "a subscription that is removed although every node declares it",
    (s) => s.tell({ op: "events.subscribe", args: [{ ...DECLARATION, subscriptions: [SUBSCRIPTION] }], answer: 1 }),
  ],
  [
    "S10",
    "an event for a subscription whose filter it does not meet",
    (s) => {
      s.tell({ op: "events.subscribe", args: [{ ...DECLARATION, subscriptions: [SUBSCRIPTION] }], answer: 0 });
      const asked = { env: "default", stack: null, event: "x", plain: '{"kind":"b"}' };
      s.tell({ op: "events.match", args: [[asked]], answer: [[SUBSCRIPTION]] });
    },
  ],
  [
    "S10",
    "a second run that gathers for a subject",
    async (s) => {
      await debounce(s, 1);
      s.tables.debounces.clear();
      await debounce(s, 2);
    },
  ],
  [
    "S10",
    "an event that goes to a run which has begun",
    async (s) => {
      const claim = await gathered(s);
      const kept = [...s.tables.debounces];
      await settle(s, claim);
      for (const [key, row] of kept) s.tables.debounces.set(key, row);
      await debounce(s, 3);
    },
  ],
  [
    "S10",
    "a run that begins with an event that is not the last",
    async (s) => {
      const claim = await gathered(s);
      for (const [key, row] of s.tables.debounces) {
        s.tables.debounces.set(key, { ...row, payload: { codec: "json", data: '{"no":1}' } });
      }
      await settle(s, claim);
    },
  ],
  [
    "S10",
    "a run that begins before its subject is quiet",
    async (s) => {
      const claim = await gathered(s);
      await debounce(s, 3);
      for (const [key, row] of s.tables.debounces) s.tables.debounces.set(key, { ...row, lastAtUs: 0 });
      await settle(s, claim);
    },
  ],
  [
    "S10",
    "a last event whose run has ended without it",
    async (s) => {
      await debounce(s, 1);
      await s.world.advance(WINDOW_MS);
      await s.commit(await s.claim(), done("null"));
    },
  ],
  [
    "S4",
    "a subject that is settled under a claim that is lost",
    async (s) => {
      const claim = { ...(await gathered(s)), token: s.world.token() };
      const ticket = claim.debounce!;
      s.tell({ op: "events.settleDebounced", args: [claim, claim.seq, ticket], answer: { outcome: "begins" } });
    },
  ],
  [
    "breaker",
    "a breaker that is reported closed after its failures",
    async (s) => {
      await failed(s);
      const answers = [{ state: "closed", failures: 0, opening: null, probe: null } as const];
      s.tell({ op: "breakers.read", args: [[QUESTION]], answer: answers });
    },
  ],
  [
    "breaker",
    "two runs that probe at once",
    async (s) => {
      const opening = await failed(s);
      await take(s, opening);
      s.tables.probes.clear();
      await take(s, opening);
    },
  ],
];

describe("the windows of an interval, fired by two stacks", () => {
  const windowsOf = async (...windows: readonly number[]) => {
    const s = new Scene();
    for (const at of windows) {
      const data = JSON.stringify({ type: "every", window: new Date(at).toISOString() });
      await s.insert({ input: { codec: "json", data } });
    }
    checkWindows(s.history, "script", 1000);
    return s.broken;
  };

  test("are an interval apart: one more in between is broken, and so is one twice", async () => {
    expect(await windowsOf(0, 1000, 3000)).toEqual([]);
    expect(await windowsOf(0, 1000, 1500)).toEqual(["S10"]);
    expect(await windowsOf(0, 1000, 1000)).toEqual(["S10"]);
  });
});

test.for(LIES)("%s is broken by %s", async ([invariant, , story]) => {
  const s = new Scene();
  await story(s);
  checkGathered(s.history);
  expect(s.broken).toContain(invariant);
});
