// The surroundings of a command: unreachable databases, missing schemas, wrong usage, hostile text.

import { execFile } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { startEmbedded } from "../../src/embedded/index.js";
import { codecs } from "../../src/kernel/codec/codecs.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { scratchFolder } from "../embedded/scratch.js";
import { scene } from "../store/scene.js";
import { holdfast, typed } from "./holdfast.js";

const { store, url, schema, rows } = scene();
const env = { HOLDFAST_DATABASE_URL: url };
const world = systemWorld();

describe("the database", () => {
  test("that is unreachable is reported within seconds, without the password", { timeout: 20_000 }, async () => {
    const away = "postgres://ann:s3cret@127.0.0.1:1/db";
    const startedAt = world.monotonicNow();
    const outcomes = await Promise.all([
      holdfast(["runs", "--url", away]),
      holdfast(["migrate"], { env: { DATABASE_URL: away } }),
      holdfast(["nodes", "--json", "--url", away]),
    ]);
    expect(world.monotonicNow() - startedAt).toBeLessThan(10_000);
    for (const { code, stdout, stderr } of outcomes) {
      expect(code).toBe(3);
      expect(stdout + stderr).toContain("127.0.0.1:1");
      expect(stdout + stderr).not.toMatch(/s3cret|\n +at /);
    }
    expect(outcomes[1].stderr).toContain("address from DATABASE_URL");
    expect(outcomes[2].json).toMatchObject({ ok: false, code: "DATABASE_UNREACHABLE" });
  });

  test("that refuses the login counts as unreachable; an address that cannot be parsed is wrong usage", async () => {
    const wrong = url.replace(/:[^:@/]+@/, ":wr0ng@");
    const [refused, slash, other] = await Promise.all([
      typed(["runs", "--url", wrong]),
      typed(["runs", "--url", url.replace(/:[^:@/]+@/, ":wr/0ng@")]),
      typed(["runs", "--url", "mysql://ann:wr0ng@localhost/db"]),
    ]);
    expect([refused.code, slash.code, other.code]).toEqual([3, 2, 2]);
    expect(refused.stderr + slash.stderr + other.stderr).not.toMatch(/0ng/);
  });

  test("that is not named is asked for, and nothing is created", async () => {
    const cwd = await scratchFolder();
    const { code, stderr } = await holdfast(["runs"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(/set HOLDFAST_DATABASE_URL .*--url postgres:\/\/user@host:5432\/database/);
    mkdirSync(join(cwd, ".holdfast", "postgres"), { recursive: true });
    expect((await typed(["runs"], { cwd })).code).toBe(2);
    expect(readdirSync(join(cwd, ".holdfast", "postgres"))).toEqual([]);
  });

  test("embedded in the current folder is found while it runs", async () => {
    const cwd = await scratchFolder();
    mkdirSync(join(cwd, ".holdfast"), { mode: 0o711 });
    const server = await startEmbedded({ dataDir: join(cwd, ".holdfast", "postgres") });
    try {
      expect(await holdfast(["migrate"], { cwd })).toMatchObject({ code: 0, stderr: "" });
      expect((await holdfast(["runs"], { cwd })).stdout).toMatch(/^No runs in env default\. /);
    } finally {
      await server.stop();
    }
    expect((await typed(["runs"], { cwd })).code).toBe(2);
  });
});

describe("the schema", () => {
  const fresh = `${schema}_b`;

  test("that is missing points to migrate, which creates it", async () => {
    const missing = await typed(["runs", "--schema", fresh], { env });
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toContain("holdfast migrate");
    const first = await holdfast(["migrate", "--schema", fresh], { env });
    expect(first.stdout).toMatch(/^Applied to schema \S+:\n {2}1 ground\n/);
    const again = await typed(["migrate", "--schema", fresh, "--json"], { env });
    expect(again.json).toMatchObject({ ok: true, applied: [], schema: fresh });
    const { stdout } = await typed(["dead", "--schema", fresh], { env });
    expect(stdout).toBe("No dead, failed or quarantined runs in env default.\n");
    expect((await typed(["nodes", "--schema", fresh], { env })).stdout).toMatch(/^No nodes in env default\. /);
  });

  test("is printed as SQL without a database", async () => {
    const { code, stdout } = await holdfast(["migrate", "--print", "--schema", "mine"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^begin;[\s\S]*create table[\s\S]*"mine"\.[\s\S]*commit;\n$/);
  });

  afterAll(() => rows(`drop schema if exists ${fresh} cascade`));
});

describe("the command line", () => {
  test("is explained", async () => {
    const [all, one, version, nothing] = await Promise.all([
      holdfast(["--help"]),
      typed(["runs", "--help"]),
      holdfast(["--version"]),
      holdfast([]),
    ]);
    for (const name of ["migrate", "nodes", "runs", "show", "signal", "cancel", "dead"]) {
      expect(all.stdout).toContain(`\n  ${name} `);
    }
    expect(all.stdout).toContain("Exit codes: 0 ok, 1 failed");
    expect(one.stdout).toMatch(/^Usage: holdfast runs \[options\]\n[\s\S]*--state <S>[\s\S]*--json/);
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(nothing).toMatchObject({ code: 2, stdout: "", stderr: all.stdout });
  });

  test("that cannot be understood ends with 2, and repeats no address", async () => {
    const lines = [
      ["frob"],
      ["runs", "--frob"],
      ["runs", "--limit", "0"],
      ["runs", "--state", "lost"],
      ["runs", "--env", "A B"],
      ["runs", "--schema", 'x"y'],
      ["runs", "--watch", "--json"],
      ["show"],
      ["runs", "postgres://ann:s3cret@h/db"],
      ["--json"],
    ];
    const outcomes = await Promise.all(lines.map((words) => typed(words, { env })));
    for (const [i, { code, stdout, stderr }] of outcomes.entries()) {
      expect(code, lines[i]!.join(" ")).toBe(2);
      expect(stdout + stderr).not.toMatch(/s3cret|\n +at /);
    }
    expect(outcomes[6]!.json).toMatchObject({ ok: false, code: "COMMAND_MISUSED" });
  });
});

describe("a shell", () => {
  const words = async (...typedWords: string[]) =>
    (await holdfast(["complete", "--", ...typedWords], { env })).stdout.split("\n").map((line) => line.split("\t")[0]);

  test("gets a script for bash, zsh and fish, and completes commands, options, states, ids and names", async () => {
    const scripts = await Promise.all(["bash", "zsh", "fish"].map((shell) => typed(["complete", shell])));
    for (const { code, stdout } of scripts) expect([code, stdout.includes("holdfast complete --")]).toEqual([0, true]);
    expect(await typed(["complete", "tcsh"])).toMatchObject({ code: 2 });
    const { stdout: reply } = await promisify(execFile)("bash", [
      "--norc",
      "-c",
      `holdfast() { printf 'approve\\tdecide\\n:4\\n'; }; ${scripts[0]!.stdout}
       compopt() { :; }; COMP_WORDS=(holdfast appr); COMP_CWORD=1; __holdfast_complete; echo "\${COMPREPLY[@]}"`,
    ]);
    expect(reply).toBe("approve\n");
    expect((await typed(["complete", "bash", "--json"])).json).toMatchObject({ ok: true, shell: "bash" });
    const group = { env: "default", stack: null, queue: "mail", program: "mail", version: null };
    const id = world.id();
    const input = codecs().encode(null);
    await store.runs.insert([{ id, group, priority: 0, delayMs: 0, crashLimit: 5, input }]);
    const name = "$(touch here)";
    const node = { incarnation: world.token(), identity: name, name, env: "default", stack: null, build: null };
    await store.nodes.register(node);
    await store.nodes.register({ ...node, incarnation: world.token(), identity: "node-a", name: "node-a" });
    // One after the other: an answer of the database that takes longer than a second is not waited for.
    expect(await words("ru")).toContain("runs");
    expect(await words("runs", "--st")).toContain("--state");
    expect(await words("runs", "--state", "qua")).toContain("quarantined");
    expect(await words("--schema", schema, "show", "")).toContain(id);
    expect(await words("--schema", schema, "runs", "--program", "")).toContain("mail");
    const nodes = await words("--schema", schema, "drain", "");
    const away = await holdfast(["complete", "--", "show", ""], { env: { DATABASE_URL: "postgres://127.0.0.1:1/x" } });
    // A shell would execute it.
    expect([nodes.includes("node-a"), nodes.join(" ").includes("touch")]).toEqual([true, false]);
    expect(away).toMatchObject({ code: 0, stderr: "" });
  });
});

test("escape sequences in stored text do not reach the terminal", async () => {
  const coder = codecs();
  const nasty = "\x1b[2J\x07\x9b31m\u202egnp.exe\r\nfake line";
  const group = { env: "hostile", stack: null, queue: "q", program: "p", version: null };
  const [groupId] = await store.runs.groupIds([group]);
  const input = coder.encode({ [nasty]: nasty });
  await store.runs.insert([{ id: world.id(), group, priority: 0, delayMs: 0, crashLimit: 5, input }]);
  const owner = world.token();
  const name = "node\u202e\u2066name 名前";
  await store.nodes.register({ incarnation: owner, identity: name, name, env: "hostile", stack: null, build: null });
  const [claim] = await store.runs.claim({
    owner,
    token: world.token(),
    groupIds: [groupId!],
    limit: 1,
    leaseMs: 60_000,
  });
  const reason = coder.encode({ name: nasty, message: nasty, stack: nasty });
  const step = { kind: "append", entry: { kind: "step", name: "st\u202eep", payload: input } } as const;
  await store.runs.commit([
    { claim: claim!, expectedSeq: claim!.seq, effects: [step, { kind: "fail", as: "failed", reason }] },
  ]);
  const words = [
    ["runs"],
    ["nodes"],
    ["dead"],
    ["dead", "--json"],
    ["show", claim!.runId],
    ["show", claim!.runId, "--payloads"],
    ["show", claim!.runId, "--json"],
    ["signal", claim!.runId, nasty],
    ["show", nasty],
  ];
  const outcomes = await Promise.all(
    words.map((line, i) => (i === 4 ? holdfast : typed)([...line, "--env", "hostile", "--schema", schema], { env })),
  );
  for (const { stdout, stderr } of outcomes) {
    expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}]|^fake line/mu);
    expect(stdout + stderr).not.toBe("");
  }
  expect(outcomes[2]!.stdout).toContain("\\x1b[2J\\x07\\x9b31m\\u202egnp.exe\\r\\nfake line");
  expect(outcomes[3]!.json.runs[0].reason).toBe(`${nasty}: ${nasty}`);
});
