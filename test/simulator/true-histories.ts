// Histories that keep every invariant: no checker may object to them.

import { done, entry, LEASE_MS, park, type Scene } from "./checkers-scene.js";

export const TRUE: readonly (readonly [what: string, story: (s: Scene) => unknown])[] = [
  [
    "a run that takes the slot of one that parks",
    async (s) => {
      const limits = [{ kind: "slots", key: "slots a", max: 1 } as const];
      const first = await s.inserted({ limits });
      await s.insert({ limits });
      await s.commit(first, park);
      s.tell({
        op: "runs.admit",
        args: [{ env: "default", keys: 10 }],
        answer: await s.store.runs.admit({ runIds: [first.runId] }),
      });
      await s.commit(await s.claim(), done("null"));
    },
  ],
  [
    "a run whose past generations are removed, with their messages",
    async (s) => {
      const first = await s.inserted();
      await s.send(first.runId, `signal:${s.world.token()}`);
      await s.commit(first, entry("step"), { kind: "continue", input: { codec: "json", data: "[]" }, reopen: [] });
      await s.world.advance(10);
      await s.clean();
      await s.commit(await s.claim(), done("null"));
    },
  ],
  [
    "a run that is claimed, gets a signal, is reclaimed and completes",
    async (s) => {
      const first = await s.inserted();
      await s.commit(first, entry("step"));
      await s.send(first.runId, "signal:1");
      await s.world.advance(LEASE_MS);
      await s.sweep();
      const second = await s.claim();
      await s.commit(second, { kind: "take", messageKey: "signal:1" }, done("null"));
    },
  ],
  [
    "a run that parks, wakes by time, begins a new generation, fails and is retried",
    async (s) => {
      await s.commit(await s.inserted(), entry("sleep.begun", "a", "1", '{"ms":50}'), { ...park, wakeInMs: 50 });
      await s.world.advance(60);
      await s.wake();
      const woken = await s.claim();
      await s.commit(woken, entry("sleep"), { kind: "continue", input: { codec: "json", data: "[]" }, reopen: [] });
      const reason = { codec: "json", data: "{}" };
      await s.commit(await s.claim(), { kind: "fail", as: "failed", reason });
      const options = { by: "ann", callId: s.world.token(), fromStart: false };
      const answers = await s.store.runs.retry([woken.runId], options);
      s.tell({ op: "runs.retry", args: [[woken.runId], options], answer: answers });
      await s.commit(await s.claim(), entry("step"), done("null"));
    },
  ],
  ["a holder that sends a heartbeat after others had restarted its run", (s) => restartedThrice(s)],
];

/** Three holders lose a run that each of them restarted, the first two after progress; the first sends a heartbeat before the last loses it. */
export async function restartedThrice(s: Scene, lie: Parameters<Scene["sweep"]>[0] = {}): Promise<void> {
  await s.insert({ recovery: "restart", crashLimit: 5 });
  const [one, two, three] = [await s.node("one"), await s.node("two"), await s.node("three")];
  for (const owner of [one, two]) {
    await s.commit(await s.claim({ owner }), entry("step.tried"));
    await s.world.advance(LEASE_MS);
    await s.sweep();
  }
  await s.claim({ owner: three });
  await s.world.advance(LEASE_MS);
  await s.beat(one);
  await s.sweep(lie);
}
