// `npm start`: an embedded PostgreSQL, three node processes, six orders. One node is killed with -9 in mid-step, one is
// frozen for longer than its lease and wakes up to find its late write refused. Nothing is lost, nothing recorded twice.
// The last order waits for you; with `--once` a script approves it, too, and `--json` prints the result.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import type { RunHandle } from "../src/client/run-handle.js";
import { startEmbedded } from "../src/embedded/index.js";
import { createNode } from "../src/node/create-node.js";
import { postgres } from "../src/store/postgres/index.js";
import { reportNode, sendMore, tell, tellGood, tellHarm } from "./demo-screen.js";
import { order } from "./order.js";

interface Told {
  readonly event: "ready" | "claimed" | "settled" | "step" | "lost" | "reclaimed";
  readonly runId?: string;
  readonly epoch?: number;
  readonly what?: string;
  readonly expiredForMs?: number;
}

const RUNS = 6;
const STEPS = ["charge", "pack", "ship"];
const FROZEN_MS = 6_000;
const json = process.argv.includes("--json");
/** Without a person. */
const alone = json || process.argv.includes("--once");

const server = await startEmbedded({ onNotice: tell });
const store = postgres(server.url);
await store.migrate();
tell(`PostgreSQL answers on port ${server.port}: the real one, from an npm package`);

// An env of its own for every demonstration: the data of the last one stays.
const env = `demo-${Date.now().toString(36)}`;
const client = await createNode({ store, programs: [], env, identity: { id: "shop" } });
const nodes = new Map<string, ChildProcess>();
const labels = new Map<string, string>();
const holding = new Map<string, Set<string>>();
const asked = new Set<string>();
const runs: RunHandle<{ shipped: boolean }>[] = [];
let killed: { node: string; runId: string; at: number } | null = null;
let frozen: string | null = null;
let takeoverMs = 0;
const refused = new Set<string>();

const labelOf = (runId: string) => labels.get(runId) ?? runId.slice(0, 8);

async function up(name: string): Promise<void> {
  const node = fork(join(import.meta.dirname, "demo-worker.ts"), [], {
    execArgv: process.execArgv,
    // Not as arguments: those are readable by every user of the machine, and the URL has the password.
    env: { ...process.env, HOLDFAST_DATABASE_URL: server.url, HOLDFAST_NODE_ID: name, HOLDFAST_ENV: env },
  });
  await once(node, "message");
  holding.set(name, new Set());
  nodes.set(name, node);
  node.on("message", (told: Told) => onTold(name, told));
}

function onTold(node: string, { event, runId = "", what = "", epoch = 1, expiredForMs = 0 }: Told): void {
  const run = labelOf(runId);
  const held = holding.get(node)!;
  if (event === "step") onStep(node, what);
  if (event === "claimed") onClaimed(node, runId, epoch);
  if (event === "reclaimed") {
    const why = expiredForMs > 0 ? "its lease has expired" : "the process that held it is gone";
    reportNode(node, run, `is free again: ${why}`);
  }
  if (event === "lost") {
    refused.add(runId);
    held.delete(runId);
    reportNode(node, run, `tries to write under claim ${epoch}: REFUSED, another node holds it now`);
  }
  if (event === "settled") {
    held.delete(runId);
    if (!asked.has(runId)) onAsked(node, runId);
  }
}

function onClaimed(node: string, runId: string, epoch: number): void {
  holding.get(node)!.add(runId);
  const taken = killed?.runId === runId && takeoverMs === 0;
  if (!taken) return;
  takeoverMs = Math.round(performance.now() - killed!.at);
  tellGood(`${node} takes ${labelOf(runId)} over (claim ${epoch}), ${(takeoverMs / 1000).toFixed(1)} s after the kill`);
  sendMore("what is recorded is not done again; the step that was cut short is");
}

function onStep(node: string, what: string): void {
  const [step, label] = what.split(" ") as [string, string];
  reportNode(node, label, step);
  if (step !== "pack") return;
  const runId = [...labels].find(([, name]) => name === label)![0];
  if (!killed) kill(node, runId);
  else if (!frozen && node !== killed.node && killed.runId !== runId) freeze(node, label);
}

function kill(node: string, runId: string): void {
  killed = { node, runId, at: performance.now() };
  nodes.get(node)!.kill("SIGKILL");
  tellHarm(`kill -9 ${node}, in the middle of ${labelOf(runId)}`);
  const list = [...holding].map(([name, held]) => `${name} ${[...held].map(labelOf).join(" and ") || "nothing"}`);
  sendMore(`held at that moment: ${list.join(", ")}`);
}

function freeze(node: string, label: string): void {
  frozen = node;
  nodes.get(node)!.kill("SIGSTOP");
  tellHarm(`${node} freezes in the middle of ${label}, for longer than its lease (a long pause, a cut wire)`);
  setTimeout(() => {
    tellHarm(`${node} wakes up and does not know that time has passed`);
    nodes.get(node)!.kill("SIGCONT");
  }, FROZEN_MS);
}

/** The first time a run gives its claim back, it asks the warehouse. It takes no slot meanwhile. */
function onAsked(node: string, runId: string): void {
  asked.add(runId);
  const run = runs.find(({ id }) => id === runId)!;
  if (!alone && run === runs.at(-1)) {
    reportNode(node, labelOf(runId), "waits for a person: you");
  } else {
    reportNode(node, labelOf(runId), "waits for the warehouse, which approves");
    run.decide("ship", { choice: "approved", by: "warehouse" }).catch((error) => tell(String(error)));
  }
}

function askYou(runId: string): void {
  tellGood(`${labelOf(runId)} waits for you. In another terminal, in this folder:`);
  sendMore(`npm run -s holdfast -- approve ${runId} --env ${env}`);
  sendMore(`npm run -s holdfast -- runs --env ${env}      (also: nodes, show RUN)`);
}

async function summary() {
  const journals = await Promise.all(runs.map((run) => store.journal.read(run.id)));
  const steps = journals.flatMap((journal) => journal!.entries.filter(({ kind }) => kind === "step"));
  const results = await Promise.all(runs.map((run) => run.result({ timeout: "1s" })));
  const lostRuns = RUNS - results.filter(({ shipped }) => shipped).length;
  const doubledSteps = steps.length - RUNS * STEPS.length;
  const ok = doubledSteps === 0 && lostRuns === 0 && refused.size > 0 && takeoverMs > 0;
  tellGood(
    `${RUNS - lostRuns} of ${RUNS} orders shipped; ${steps.length} steps recorded, ${doubledSteps} of them twice; ` +
      `takeover in ${takeoverMs} ms; late writes refused: ${refused.size}`,
  );
  return { ok, runs: RUNS, steps: steps.length, takeoverMs, doubledSteps, lostRuns, refusedWrites: refused.size };
}

async function stop(): Promise<void> {
  for (const node of nodes.values()) {
    if (node.exitCode !== null || node.signalCode !== null) continue;
    node.kill("SIGTERM");
    await Promise.race([once(node, "exit"), pass(6_000)]);
    node.kill("SIGKILL");
  }
  await client.stop();
  await store.close();
  await server.stop();
}

const interrupted = new Promise<"interrupted">((resolve) => {
  process.once("SIGINT", () => resolve("interrupted"));
});
await Promise.all(["anna", "bert", "cleo"].map(up));
tell(`three node processes are up: ${[...nodes].map(([name, { pid }]) => `${name} (pid ${pid})`).join(", ")}`);
tell(`${RUNS} orders are placed; each is charged, packed, approved by the warehouse, cooled off and shipped`);
for (let i = 1; i <= RUNS; i++) {
  const run = await client.start(order, { id: `order-${i}`, cents: 100 * i }, { key: `order-${i}` });
  labels.set(run.id, `order-${i}`);
  runs.push(run);
}

const finished = (async () => {
  const last = runs.at(-1)!;
  await Promise.all(runs.filter((run) => alone || run !== last).map((run) => run.result({ timeout: "60s" })));
  const until = performance.now() + 2 * FROZEN_MS;
  while (refused.size === 0 && performance.now() < until) await pass(50);
  if (!alone) askYou(last.id);
  await last.result();
  return summary();
})();
const report = await Promise.race([finished, interrupted]);
if (report !== "interrupted" && !alone) {
  tell("Kill another one yourself, look around with the commands above, or press ctrl-c.");
  await interrupted;
}
if (report === "interrupted" || !alone) tell("stopping; the data stays in .holdfast");
if (report !== "interrupted" && json) console.log(JSON.stringify(report));
await stop();
process.exit(report === "interrupted" || report.ok ? 0 : 1);
