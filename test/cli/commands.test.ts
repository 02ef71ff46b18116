// Every command as people and scripts use it: the real program, a real database, runs in every state.

import { beforeAll, describe, expect, test } from "vitest";
import { accept, claimFrom, commitOf, group, json, scene } from "../store/scene.js";
import { holdfast, typed } from "./holdfast.js";
import { type Seeded, seed } from "./seed.js";

const { store, url, schema } = scene();
const env = { HOLDFAST_DATABASE_URL: url };
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
let seeded: Seeded;

/** The first use of each command runs the real program; its other uses run in this process. */
const run = (...words: string[]) => holdfast([...words, "--schema", schema], { env });
const also = (...words: string[]) => typed([...words, "--schema", schema], { env });

beforeAll(async () => {
  seeded = await seed(store, "default");
});

describe("runs", () => {
  test("shows the state of each run, in aligned columns that fit", async () => {
    const { code, stdout, stderr } = await run("runs");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^RUN +STATE +PROGRAM +CREATED +NOW$/);
    expect(lines).toHaveLength(9);
    const at = lines[0]!.indexOf("STATE");
    for (const line of lines) {
      expect(line.length).toBeLessThanOrEqual(100);
      expect(line.slice(at - 2, at + 1)).toMatch(/^ {2}\S$/);
    }
    expect(stdout).toMatch(/running +import .*after download, .*, claim 1 by node-a, /);
    expect(stdout).toMatch(/parked +approval .*waits for signal decision, wakes in 120 min\n/);
    expect(stdout).toMatch(/waiting +reminder .*due in 60 min/);
    expect(stdout).not.toContain("\x1b");
  });

  test("filters, limits, and reports that there are more", async () => {
    const [dead, one, none] = await Promise.all([
      also("runs", "--state", "dead,failed", "--json"),
      also("runs", "--limit", "1"),
      also("runs", "--program", "nobody", "--queue", "x"),
    ]);
    expect(dead.json.runs.map(({ state }: { state: string }) => state)).toEqual(["failed", "dead"]);
    expect(one.stdout).toContain("The newest 1 are shown; --limit shows more.");
    expect(none).toMatchObject({ code: 0, stdout: "No runs in env default match --program and --queue.\n" });
  });

  test("--json is one document with ISO times", async () => {
    const { stdout, json } = await run("runs", "--json");
    expect(stdout.split("\n")).toHaveLength(2);
    expect(json).toMatchObject({ ok: true, more: false });
    const running = json.runs.find(({ id }: { id: string }) => id === seeded.running);
    expect(running).toMatchObject({ state: "running", program: "import", owner: seeded.incarnation, wakeAt: null });
    expect(running.createdAt).toMatch(ISO);
    expect(running.leaseUntil).toMatch(ISO);
  });
});

describe("nodes", () => {
  test("shows which nodes are alive and what they hold", async () => {
    const [human, json] = await Promise.all([run("nodes"), also("nodes", "--json")]);
    expect(human.stdout).toMatch(/^NODE +STATE +HOLDS/);
    expect(human.stdout).toMatch(/\nnode-a +alive +1 +2\.4\.1 /);
    expect(json.json.nodes).toMatchObject([{ name: "node-a", state: "alive", holds: 1, stoppedAt: null }]);
    expect(json.json.nodes[0].seenAt).toMatch(ISO);
  });
});

describe("show", () => {
  test("prints the timeline of a completed run", async () => {
    const { code, stdout } = await run("show", seeded.completed);
    expect(code).toBe(0);
    expect(stdout).toContain(`Run      ${seeded.completed}\n`);
    expect(stdout).toMatch(/\n {2}1 {2}\d\d:\d\d:\d\d\.\d{3} {2}start +order +\{"id":17,"items":\["book","pen"\]\}\n/);
    expect(stdout).toMatch(/value +now +1 +1 +1970-01-01T00:00:00\.000Z\n/);
    expect(stdout).toMatch(/step\.tried +charge +1 +1 +RangeError: card declined\n/);
    expect(stdout).toMatch(/completed +1 +\{"shipped":true\}\n$/);
  });

  test("prints the holder of a run and its unread messages", async () => {
    const { stdout } = await also("show", seeded.running);
    expect(stdout).toMatch(/State +running: claim 1 by node-a/);
    expect(stdout).toMatch(/step +download +1 +1 node-a +48213/);
    expect(stdout).toMatch(/not read yet\n {2}signal +comment +.* cli:test +\{"text":"looks fine"\}/);
  });

  test("prints what a parked run waits for", async () => {
    const [human, json] = await Promise.all([also("show", seeded.parked), also("show", seeded.parked, "--json")]);
    expect(human.stdout).toMatch(/Waits for\n {2}signal +decision +until \S+Z, in 120 min\n/);
    expect(json.json.waits).toMatchObject([{ kind: "signal", name: "decision" }]);
    expect(json.json.journal[0]).toMatchObject({ seq: 1, payload: { codec: "json", value: { amount: 5000 } } });
  });

  test("--payloads shows errors with stack and cause", async () => {
    const { stdout } = await also("show", seeded.failed, "--payloads");
    expect(stdout).toMatch(/step\.failed +render .*\n {7}Error: no such template\n {11}at /);
    expect(stdout).toContain("       caused by TypeError: path is undefined\n");
    expect(stdout).toContain('\n       {"id":18}\n');
  });

  test("accepts the beginning of an id when it matches one run only", async () => {
    const [unique, shared, unknown, nonsense] = await Promise.all([
      also("show", seeded.dead.slice(0, 18).toUpperCase(), "--json"),
      also("show", seeded.dead.slice(0, 8), "--json"),
      also("show", "00000000-0000"),
      also("show", "abc"),
    ]);
    expect(unique.json.run.id).toBe(seeded.dead);
    expect(shared).toMatchObject({ code: 1, json: { ok: false, code: "RUN_AMBIGUOUS" } });
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toContain("There is no run that begins with 00000000-0000 in env default");
    expect(nonsense).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("dead", () => {
  test("lists dead runs, with the reason", async () => {
    const [human, json, count] = await Promise.all([run("dead"), also("dead", "--json"), also("dead", "--count")]);
    expect(human.stdout).toMatch(/quarantined +signup +.*JOURNAL_MISMATCH: The code changed\./);
    expect(human.stdout).toMatch(/failed +invoice +.*no such template/);
    expect(human.stdout).toMatch(/dead +report::nightly +.*crash limit reached: 1 in a row/);
    expect(json.json.runs.map(({ id }: { id: string }) => id)).toEqual([
      seeded.quarantined,
      seeded.failed,
      seeded.dead,
    ]);
    expect(count.stdout).toBe("3 (1 dead, 1 failed, 1 quarantined)\n");
  });
});

describe("approve", () => {
  test("decides a pending approval, once, with one of the choices", async () => {
    expect((await also("show", seeded.asking)).stdout).toMatch(
      /Waits for\n {2}approval +release +Ship o-1\? \(ship, hold\) asked of warehouse\n/,
    );
    const wrong = await also("approve", seeded.asking);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("pass --choice ship or hold");
    const right = await run("approve", seeded.asking, "--choice", "ship", "--note", "all there");
    expect(right).toMatchObject({ code: 0, stdout: `release of run ${seeded.asking} was decided: ship.\n` });
    expect(await store.inbox.unread(seeded.asking)).toMatchObject([
      { kind: "decision", key: "wait:release:1", sender: "cli:ann" },
    ]);
    const late = await also("approve", seeded.asking, "--choice", "hold", "--json");
    expect(late).toMatchObject({ code: 1, json: { ok: false, code: "DECISION_CONFLICT" } });
  });

  test("is rejected when no approval is pending", async () => {
    expect((await also("approve", seeded.running, "--json")).json).toMatchObject({ code: "NOTHING_TO_DECIDE" });
    expect((await also("approve", seeded.completed, "--json")).json).toMatchObject({ code: "RUN_ENDED" });
    expect(await also("approve", seeded.asking, "--name", "other")).toMatchObject({ code: 1 });
  });
});

describe("signal and cancel", () => {
  test("a signal arrives with its value, once per id, and wakes the run", async () => {
    const send = () => run("signal", seeded.parked, "decision", '{"yes":true}', "--id", "7", "--json");
    expect((await send()).json).toMatchObject({ ok: true, outcome: "accepted", key: "signal:7" });
    expect((await send()).json).toMatchObject({ ok: true, outcome: "already" });
    expect(await store.inbox.unread(seeded.parked)).toMatchObject([
      { kind: "signal", name: "decision", sender: "cli:ann", payload: { data: '{"yes":true}' } },
    ]);
    expect((await store.runs.get(seeded.parked))?.state).toBe("waiting");
  });

  test("a signal to an ended or unknown run, or with a broken value, is rejected", async () => {
    const [ended, unknown, broken, nameless] = await Promise.all([
      also("signal", seeded.completed, "decision", "--json"),
      also("signal", seeded.completed.replace(/.{12}$/, "000000000000"), "decision"),
      also("signal", seeded.running, "decision", "yes"),
      also("signal", seeded.running),
    ]);
    expect(ended).toMatchObject({ code: 1, json: { ok: false, code: "RUN_ENDED" } });
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(broken.code).toBe(2);
    expect(broken.stderr).toContain("not valid JSON");
    expect(nameless).toMatchObject({
      code: 2,
      stderr: "holdfast: missing required argument 'NAME'\nSee holdfast signal --help.\n",
    });
  });

  test("a waiting run is cancelled at once, a running one is asked to stop, an ended one is rejected", async () => {
    const waiting = await run("cancel", seeded.waiting, "--reason", "not needed");
    expect(waiting).toMatchObject({ code: 0, stdout: `Run ${seeded.waiting} is cancelled.\n` });
    expect((await also("show", seeded.waiting)).stdout).toContain("by cli:ann: not needed");
    expect((await also("cancel", seeded.running, "--json")).json).toMatchObject({ ok: true, outcome: "requested" });
    expect(await also("cancel", seeded.failed)).toMatchObject({ code: 1, stdout: "" });
  });
});

describe("retry and dead retry", () => {
  test("a failed run is retried, a completed one is rejected", async () => {
    const opened = await run("retry", seeded.failed);
    expect(opened).toMatchObject({
      code: 0,
      stdout: `Run ${seeded.failed} is queued and will resume where it stopped.\n`,
    });
    expect(await store.runs.get(seeded.failed)).toMatchObject({ state: "waiting", generation: 1 });
    expect((await also("show", seeded.failed)).stdout).toContain("retried");
    const refused = await also("retry", seeded.completed, "--json");
    expect(refused).toMatchObject({ code: 1, json: { ok: false, code: "RUN_NOT_RETRIED" } });
  });

  test("one call retries all runs of a state", async () => {
    expect(await also("dead", "retry", "--state", "waiting")).toMatchObject({ code: 2 });
    expect(await also("dead", "resurrect")).toMatchObject({ code: 2 });
    const before = (await also("dead", "--count", "--json")).json as { dead: number; quarantined: number };
    expect(before.dead).toBeGreaterThan(0);
    const opened = await run("dead", "retry", "--state", "dead", "--from-start", "--yes", "--json");
    expect(opened.json).toMatchObject({ ok: true, retried: before.dead });
    const after = (await also("dead", "--count", "--json")).json;
    expect(after).toMatchObject({ dead: 0, quarantined: before.quarantined });
  });
});

describe("backfill", () => {
  test("starts one run for each interval; the same call again starts none and shows the progress", async () => {
    const range = ["--from", "2026-01-01", "--to", "2026-01-04", "--every", "1d"];
    const week = ["backfill", "etl", "--name", "week", ...range, "--input", '{"table":"orders"}'];
    expect((await also(...week, "--concurrency", "2")).stdout).toMatch(/^0 of 3 runs have ended: 1 held, 2 waiting\n$/);
    const [claim] = await claimFrom(store, group("etl", { env: "default" }), { limit: 1 });
    expect(JSON.parse(claim!.input.data)).toMatchObject({ table: "orders", to: "2026-01-02T00:00:00.000Z" });
    await accept(store, commitOf(claim!, { kind: "fail", as: "failed", reason: json("no") }));
    const again = await also(...week, "--concurrency", "2", "--json");
    expect(again.json).toMatchObject({ ok: true, total: 3, ended: 1, troubled: [{ runId: claim!.runId }] });
    expect(await also("backfill", "etl", "--name", "week")).toMatchObject({ code: 2 });
    expect(await also("backfill", "etl", "--name", "x", ...range.slice(0, 4), "--every", "0s")).toMatchObject({
      code: 2,
    });
  });
});
