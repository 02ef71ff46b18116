// The simulated world itself: what is killed stays dead, what is paused comes late, what is lost is unknown.

import { describe, expect, test } from "vitest";
import { Chance } from "../../src/simulator/chance.js";
import { Database } from "../../src/simulator/database.js";
import { Incarnation } from "../../src/simulator/incarnation.js";
import { Link, newCable, type Weather } from "../../src/simulator/link.js";
import { remoteStore } from "../../src/simulator/remote-store.js";
import { Scheduler } from "../../src/simulator/scheduler.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";

const CLOCK = { offsetMs: 0, drift: 0 };
const RUN = {
  id: "01890000-0000-7000-8000-000000000001",
  group: { env: "default", stack: null, queue: "q", program: "p", version: null },
  priority: 0,
  delayMs: 0,
  crashLimit: 3,
  input: { codec: "json", data: "null" },
};

function scene(weather: Partial<Weather> = {}) {
  const scheduler = new Scheduler(1);
  const chance = new Chance(1);
  const world = new Incarnation(10, "n0.1", { scheduler, chance: chance.split("world"), clock: CLOCK });
  const applied: string[] = [];
  const database = new Database({
    scheduler,
    chance: chance.split("database"),
    openStore: (inside) => memoryStore({ world: inside }),
    onApplied: ({ op }) => applied.push(op),
    onPresence: () => {},
    onHeard: () => {},
    onThrown: (_, error) => applied.push(String(error)),
  });
  const cable = newCable();
  const calm = { latencyMs: 1, loss: 0, late: 0, lateSeals: 0, busy: 0, timeoutMs: 50, retryForMs: 0 };
  const link = new Link({ world, database, scheduler, cable, chance, weather: { ...calm, ...weather } });
  return { scheduler, world, database, cable, applied, store: remoteStore(link) };
}

describe("an incarnation", () => {
  test("that is killed never gets an answer it waited for", async () => {
    const { scheduler, world, store, applied } = scene();
    const heard: string[] = [];
    world.after(5, () => heard.push("timer"));
    void world.turn().then(() => heard.push("turn"));
    void store.runs.insert([RUN]).then(() => heard.push("reply"));
    world.kill();
    await scheduler.run(100);
    expect(heard).toEqual([]);
    expect(applied).toEqual(["runs.insert"]); // it was already sent
    void store.runs.cancel(RUN.id, { by: "ghost" });
    await scheduler.run(200);
    expect(applied).toEqual(["runs.insert"]);
  });

  test("that is paused gets every answer later, in order", async () => {
    const { scheduler, world } = scene();
    const heard: string[] = [];
    for (const ms of [5, 10, 80]) world.after(ms, () => heard.push(`${ms} at ${scheduler.now}`));
    world.pausedUntil = 50;
    await scheduler.run(100);
    expect(heard).toEqual(["5 at 50", "10 at 50", "80 at 80"]);
  });
});

describe("a link", () => {
  test("that loses the reply leaves the caller with an unknown outcome", async () => {
    const { scheduler, store, cable, applied, database } = scene();
    const before = database.onApplied;
    Object.assign(database, {
      onApplied: (...args: Parameters<typeof before>) => {
        before(...args);
        cable.cut = true;
      },
    });
    const answer = store.runs.insert([RUN]).catch((error: { code: string }) => error.code);
    await scheduler.run(100);
    expect(await answer).toBe("STORE_UNAVAILABLE");
    expect(applied).toEqual(["runs.insert"]);
  });

  test("that is cut carries nothing, and repeats the call when it is restored in time", async () => {
    const { scheduler, store, cable, applied } = scene({ retryForMs: 1000 });
    cable.cut = true;
    const answer = store.runs.insert([RUN]);
    await scheduler.run(60);
    expect(applied).toEqual([]);
    cable.cut = false;
    await scheduler.run(500);
    expect(await answer).toEqual([{ outcome: "inserted", runId: RUN.id }]);
  });
});

describe("a transaction over a link", () => {
  /** Claims the run and has a transaction of it insert another; `onApplied` sees what reaches the database. */
  async function transaction(
    onApplied: (s: ReturnType<typeof scene>, op: string) => void,
    between: (s: ReturnType<typeof scene>) => void = () => {},
  ) {
    const s = scene({ retryForMs: 1000 });
    const before = s.database.onApplied;
    Object.assign(s.database, {
      onApplied: (...args: Parameters<typeof before>) => {
        before(...args);
        onApplied(s, args[0].op);
      },
    });
    const { store, scheduler, database } = s;
    const during = async <T>(work: Promise<T>): Promise<T> => {
      await scheduler.run(scheduler.now + 3_000);
      return work;
    };
    await during(store.runs.insert([RUN]));
    const groupIds = await during(store.runs.groupIds([RUN.group]));
    const [owner, token] = [s.world.token(), s.world.token()];
    const claims = await during(store.runs.claim({ owner, token, groupIds, limit: 1, leaseMs: 60_000 }));
    const effect = { kind: "append", entry: { kind: "transaction", name: "a", key: "1" } } as const;
    const answer = await during(
      store.runs
        .transact(async (tx) => {
          await store.runs.insert([{ ...RUN, id: RUN.id.replace(/1$/, "2") }], { tx });
          expect(database.tables.runs.size).toBe(1);
          between(s);
          return { claim: claims[0]!, expectedSeq: 1, effects: [effect] };
        })
        .catch((error: { code: string }) => error.code),
    );
    return { answer, runs: database.tables.runs.size, applied: s.applied };
  }

  test("is visible as a whole when it commits", async () => {
    const { answer, runs } = await transaction(() => {});
    expect(answer).toMatchObject({ outcome: "accepted", seq: 2 });
    expect(runs).toBe(2);
  });

  test("whose COMMIT has no answer is looked up", async () => {
    const { answer, runs } = await transaction(({ cable, scheduler }, op) => {
      if (op !== "runs.transact") return;
      cable.cut = true;
      scheduler.after(200, 1, () => {
        cable.cut = false;
      });
    });
    expect(answer).toMatchObject({ outcome: "recorded", seq: 2 });
    expect(runs).toBe(2);
  });

  test("is forgotten by a database that restarts before it is sealed", async () => {
    const restart = ({ database }: ReturnType<typeof scene>) => {
      database.stop();
      database.start();
    };
    const { answer, runs, applied } = await transaction(() => {}, restart);
    expect(answer).toBe("STORE_UNAVAILABLE");
    expect(runs).toBe(1);
    expect(applied).not.toContain("runs.transact");
  });
});

test("a failover sets the database back to what its replica had", async () => {
  const { scheduler, database, store } = scene();
  const failOver = database.lag();
  const inserted = store.runs.insert([RUN]);
  await scheduler.run(10);
  await inserted;
  expect(database.tables.runs.size).toBe(1);
  failOver();
  expect(database.tables.runs.size).toBe(0);
  expect(database.tables.byState.get("waiting")?.size ?? 0).toBe(0);
});
