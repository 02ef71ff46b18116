// `npm start`: an embedded PostgreSQL, three node processes, nine orders. One node is killed with -9 in mid-step, one is
// frozen for longer than its lease and wakes up to find its late write refused. Nothing is lost, nothing recorded twice.

import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createNode } from "../src/client/create-node.js";
import { startEmbedded } from "../src/embedded/index.js";
import { postgres } from "../src/store/postgres/index.js";
import { order } from "./order.js";

interface Told {
  readonly event: "ready" | "claimed" | "step" | "lost" | "reclaimed";
  readonly runId?: string;
  readonly epoch?: number;
  readonly what?: string;
  readonly expiredForMs?: number;
}

const RUNS = 9;
const STEPS = ["charge", "pack", "ship"];
const json = process.argv.includes("--json");
const startedAt = performance.now();
const say = (line: string) => {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(5);
  if (!json) console.log(`${seconds} s  ${line}`);
};

const server = await startEmbedded({ onNotice: say });
const store = postgres(server.url);
await store.migrate();
say(`PostgreSQL ready on port ${server.port}, nothing installed`);

// An env of its own for every demonstration: the data of the last one stays.
const env = `demo-${Date.now().toString(36)}`;
const client = await createNode({ store, programs: [], env });
const nodes = new Map<string, ChildProcess>();
const labels = new Map<string, string>();
let killed: { runId: string; at: number } | null = null;
let frozen = false;
let takeoverMs = 0;
let refused = 0;
const holding = new Map<string, string>();

for (const name of ["anna", "bert", "cleo"]) {
  const node = fork(join(import.meta.dirname, "demo-worker.ts"), [server.url, name, env], {
    execArgv: process.execArgv,
  });
  await new Promise((resolve) => node.once("message", resolve));
  node.on("message", (told: Told) => onTold(name, told));
  nodes.set(name, node);
  say(`${name} is up (pid ${node.pid})`);
}

function onTold(node: string, { event, runId = "", what = "", epoch, expiredForMs = 0 }: Told): void {
  const run = labels.get(runId) ?? runId;
  if (event === "step") onStep(node, what);
  if (event === "reclaimed")
    say(`${node}  ${run}  is free again: ${expiredForMs > 0 ? "its lease is over" : "its node is gone"}`);
  if (event === "lost") {
    refused++;
    say(`${node}  ${run}  late write under epoch ${epoch} REFUSED: somebody else holds it now`);
  }
  if (event === "claimed") {
    holding.set(node, runId);
    if ((epoch ?? 1) > 1) say(`${node}  ${run}  goes on (epoch ${epoch})`);
    if (killed?.runId === runId && takeoverMs === 0) takeoverMs = Math.round(performance.now() - killed.at);
  }
}

function onStep(node: string, what: string): void {
  say(`${node}  ${what}`);
  if (!what.startsWith("pack")) return;
  const [, label] = what.split(" ");
  const runId = [...labels].find(([, name]) => name === label)![0];
  if (node === "anna" && !killed) {
    killed = { runId, at: performance.now() };
    nodes.get("anna")!.kill("SIGKILL");
    say(`        kill -9 anna, in the middle of ${label}`);
  } else if (node === "bert" && !frozen) {
    frozen = true;
    nodes.get("bert")!.kill("SIGSTOP");
    say(`        bert freezes in the middle of ${label} (a long pause, a cut wire)`);
    setTimeout(() => {
      say("        bert wakes up and does not know that time has passed");
      nodes.get("bert")!.kill("SIGCONT");
    }, 6_000);
  }
}

const runs = [];
for (let i = 1; i <= RUNS; i++) {
  const run = await client.start(order, { id: `order-${i}`, cents: 100 * i }, { key: `order-${i}` });
  labels.set(run.id, `order-${i}`);
  runs.push(run);
}
say(`${RUNS} orders placed; each waits for the warehouse before it ships`);
for (const run of runs) {
  // Before or after the question is asked: a decision is kept either way.
  await run.decide("ship", { choice: "approved", by: "warehouse" });
}
const results = await Promise.all(runs.map((run) => run.result({ timeout: "60s" })));
while (refused === 0) await sleep(100);
for (const node of nodes.values()) node.kill("SIGKILL");

const journals = await Promise.all(runs.map((run) => store.journal.read(run.id)));
const steps = journals.flatMap((journal) => journal!.entries.filter(({ kind }) => kind === "step"));
const doubledSteps = steps.length - RUNS * STEPS.length;
const lostRuns = RUNS - results.filter(({ shipped }) => shipped).length;
const ok = doubledSteps === 0 && lostRuns === 0 && refused > 0;
say(
  `${RUNS - lostRuns} of ${RUNS} orders shipped, ${steps.length} steps recorded, ${doubledSteps} twice, ${refused} late write refused`,
);
if (json)
  console.log(
    JSON.stringify({ ok, runs: RUNS, steps: steps.length, takeoverMs, doubledSteps, refusedWrites: refused, lostRuns }),
  );
await client.stop();
await store.close();
await server.stop();
process.exitCode = ok ? 0 : 1;
