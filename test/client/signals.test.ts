// A node that listens to its process: real processes, real signals.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createNode } from "../../src/node/create-node.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { testSchema } from "../harness/database.js";

const { url, schema } = testSchema();
const CHILD = compiled(join(import.meta.dirname, "signals.child.ts"));
const EARLY = compiled(join(import.meta.dirname, "early-signal.child.ts"));
const pids = new Set<number>();
let store: PostgresStore;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterEach(() => {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
  pids.clear();
});
afterAll(() => store.close());

interface Watched {
  readonly child: ChildProcess;
  /** Of the node itself. */
  readonly pid: number;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  readonly said: () => string;
}

async function run(command: string, words: readonly string[], cwd: string, until = /in the step/): Promise<Watched> {
  const child = spawn(command, words, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  pids.add(child.pid!);
  let output = "";
  for (const pipe of [child.stdout, child.stderr]) {
    pipe.on("data", (data) => {
      output += data;
    });
  }
  const ended = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  await expect.poll(() => output, { timeout: 20_000, interval: 5 }).toMatch(until);
  const pid = Number(/ready (\d+)/.exec(output)?.[1] ?? child.pid);
  pids.add(pid);
  return { child, pid, ended, said: () => output };
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const node = (stepMs: number, graceMs: number, ...more: string[]) => {
  const words = [CHILD, url, schema, String(stepMs), String(graceMs), ...more];
  return run(process.execPath, words, process.cwd());
};

/** The only run that has not ended; ended here, so that the next test finds its own. */
async function theRun() {
  const { runs } = await store.runs.list({ env: "default", states: ["waiting", "running"] }, { limit: 10 });
  expect(runs).toHaveLength(1);
  const { id, state } = runs[0]!;
  const kinds = (await store.journal.read(id))!.entries.map(({ kind }) => kind);
  await store.runs.cancel(id, { by: "test" });
  return { state, kinds };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a process whose node listens", () => {
  test("ends the running step, hands the run back and exits with 0, within the grace", async () => {
    const { child, ended, said } = await node(1_000, 25_000);
    const at = performance.now();
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - at).toBeLessThan(25_000);
    expect(said()).toContain("stopped");
    expect(await theRun()).toEqual({ state: "waiting", kinds: ["start", "step", "handed-back"] });
    // Other tests here kill their processes, whose nodes never report that they stop.
    const nodes = await store.nodes.list({ env: "default" });
    expect(nodes.filter(({ serves }) => serves.some(({ program }) => program === "early"))).toEqual([]);
  });

  test("treats the same signal twice within a moment as one", async () => {
    const { child, ended } = await node(1_500, 25_000);
    child.kill("SIGINT");
    await pause(50);
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(await theRun()).toMatchObject({ state: "waiting" });
  });

  test("exits when the last of its nodes has stopped", async () => {
    const { child, ended, said } = await node(1_500, 25_000, "beside an idle node");
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(said()).toMatch(/the idle one has ended\n[\s\S]*stopped\n/);
    expect(await theRun()).toEqual({ state: "waiting", kinds: ["start", "step", "handed-back"] });
  });

  test("exits at once at the second signal, and leaves its run to its lease", async () => {
    for (const [first, second, code] of [
      ["SIGTERM", "SIGTERM", 143],
      ["SIGTERM", "SIGINT", 130],
    ] as const) {
      const { child, ended, said } = await node(60_000, 60_000);
      child.kill(first);
      await pause(1_500);
      expect(child.exitCode).toBeNull();
      child.kill(second);
      expect(await ended).toEqual({ code, signal: null });
      expect(said()).not.toContain("stopped");
      const { runs } = await store.runs.list({ env: "default", states: ["running"] }, { limit: 10 });
      expect(runs).toHaveLength(1);
      await store.runs.reclaimExpired({ env: "default", limit: 10 });
      await expect.poll(reclaimed, { timeout: 10_000 }).toEqual([runs[0]!.id]);
      await store.runs.cancel(runs[0]!.id, { by: "test" });
    }
  });

  test.each(["", "exec "])("shuts down cleanly under npm run, script begins with %j", async (how) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-npm-"));
    const words = [process.execPath, CHILD, url, schema, "1000", "25000"];
    const scripts = { work: how + words.map((word) => JSON.stringify(word)).join(" ") };
    await writeFile(join(folder, "package.json"), JSON.stringify({ name: "app", private: true, scripts }));
    const { child, ended, said, pid } = await run("npm", ["run", "work"], folder);
    child.kill("SIGTERM");
    await ended;
    await expect.poll(said, { timeout: 20_000 }).toContain("stopped");
    await expect.poll(() => isThere(pid), { timeout: 20_000 }).toBe(false);
    expect(await theRun()).toEqual({ state: "waiting", kinds: ["start", "step", "handed-back"] });
    await rm(folder, { recursive: true, force: true });
  });
});

async function reclaimed(): Promise<string[]> {
  const witness = { incarnation: crypto.randomUUID(), env: "default", watchedMs: 60_000, troubled: false };
  await store.housekeep(witness);
  return (await store.reclaim({ ...witness, limit: 10 })).map(({ runId }) => runId);
}

describe("a process without options for signals", () => {
  const early = (how: string, until: RegExp) => run(process.execPath, [EARLY, url, schema, how], process.cwd(), until);

  afterEach(async () => {
    const { runs } = await store.runs.list({ env: "default", states: ["waiting", "running"] }, { limit: 100 });
    for (const { id } of runs) await store.runs.cancel(id, { by: "test" });
  });

  test("shuts down cleanly at whatever moment of its first second SIGTERM comes, and orphans nothing", async () => {
    const moments = Array.from({ length: 20 }, (_, i) => i * 50 + Math.random() * 50);
    const ends: unknown[] = [];
    const oneAfterTheOther = async (mine: number[]) => {
      for (const ms of mine) {
        const { child, ended } = await early("", /creating/);
        await pause(ms);
        child.kill("SIGTERM");
        ends.push(await ended);
      }
    };
    await Promise.all([0, 1, 2].map((n) => oneAfterTheOther(moments.filter((_, i) => i % 3 === n))));
    expect(ends).toEqual(moments.map(() => ({ code: 0, signal: null })));
    // Other tests here kill their processes, whose nodes never report that they stop.
    const nodes = await store.nodes.list({ env: "default" });
    expect(nodes.filter(({ serves }) => serves.some(({ program }) => program === "early"))).toEqual([]);
    expect((await store.runs.list({ env: "default", states: ["running"] }, { limit: 100 })).runs).toEqual([]);
  }, 120_000);

  test("says goodbye when its work has begun", async () => {
    const { child, ended, said } = await early("", /ready/);
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(said()).toContain("stopped");
  });

  test.each(["listens itself", "listens later"])("leaves the signal to an application that %s", async (how) => {
    const { child, ended, said } = await early(how, /ready/);
    child.kill("SIGTERM");
    await expect.poll(said, { timeout: 10_000 }).toContain("the application heard it");
    await pause(300);
    expect(child.exitCode).toBeNull();
    expect(said()).not.toContain("stopped");
    // The application's listener was for one signal only: the next one finds only the node's.
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(said()).toContain("stopped");
  });

  test("is ended by the signal with signals: false", async () => {
    const { child, ended } = await early("says false", /ready/);
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: null, signal: "SIGTERM" });
  });
});

describe("in this process", () => {
  const listening = () => process.listenerCount("SIGTERM") + process.listenerCount("SIGINT");

  test("one listener for each signal serves all nodes; there is none for a node with false, or that has stopped", async () => {
    const before = listening();
    const quiet = await createNode({ store: memoryStore(), programs: [], signals: false });
    expect(listening()).toBe(before);
    const one = await createNode({ store: memoryStore(), programs: [], signals: ["SIGTERM"] });
    expect(listening()).toBe(before + 1);
    const others = await Promise.all(
      Array.from({ length: 12 }, () => createNode({ store: memoryStore(), programs: [] })),
    );
    expect(listening()).toBe(before + 2);
    await Promise.all([quiet, one, ...others].map((each) => each.stop()));
    expect(listening()).toBe(before);
  });

  test("a node that cannot start leaves no listener behind", async () => {
    const before = listening();
    const identity = async () => Promise.reject(new TypeError("no name"));
    await expect(createNode({ store: memoryStore(), programs: [], identity: { id: identity } })).rejects.toThrow(
      "no name",
    );
    expect(listening()).toBe(before);
  });

  test("an unknown signal is rejected", async () => {
    const signals = ["SIGKILL"] as unknown as ["SIGTERM"];
    await expect(createNode({ store: memoryStore(), programs: [], signals })).rejects.toMatchObject({
      path: "signals",
    });
  });
});
