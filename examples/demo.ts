// `npm start`: an embedded PostgreSQL, three worker processes, nine runs. One worker is killed with -9 in mid-step, one
// is frozen for longer than its lease and wakes up to find its late write refused. Nothing is lost, nothing done twice.

import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbedded } from "../src/embedded/index.js";
import { systemWorld } from "../src/kernel/system-world.js";
import { postgres } from "../src/store/postgres/index.js";

interface WorkerEvent {
  readonly worker: string;
  readonly event: "claimed" | "step" | "completed" | "refused" | "reclaimed";
  readonly runId: string;
  readonly epoch?: number;
  readonly step?: string;
  readonly recorded?: readonly string[];
  readonly expiredForMs?: number;
}

const RUNS = 9;
const STEPS = 3;
const json = process.argv.includes("--json");
const startedAt = performance.now();
const say = (line: string) => {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(5);
  if (!json) console.log(`${seconds} s  ${line}`);
};

const world = systemWorld();
const server = await startEmbedded({ onNotice: say });
const store = postgres(server.url);
await store.migrate();
say(`PostgreSQL ready on port ${server.port}, nothing installed`);

const group = { env: "demo", stack: null, queue: world.token(), program: "order", version: null };
const [groupId] = await store.runs.groupIds([group]);
const ids = Array.from({ length: RUNS }, () => world.id());
await store.runs.insert(
  ids.map((id) => ({ id, group, priority: 0, delayMs: 0, crashLimit: 5, input: { codec: "json", data: "{}" } })),
);
say(`${RUNS} runs of ${STEPS} steps enqueued`);

const label = new Map(ids.map((id, i) => [id, `order-${i + 1}`]));
let killed: { runId: string; at: number } | null = null;
let frozen: string | null = null;
let takeoverMs = 0;
let refused = 0;

const workers = new Map<string, ChildProcess>();
for (const name of ["anna", "bert", "cleo"]) {
  const worker = fork(join(import.meta.dirname, "demo-worker.ts"), [server.url, name, String(groupId)], {
    execArgv: ["--import", "tsx"],
  });
  worker.on("message", (event: WorkerEvent) => onEvent(event));
  workers.set(name, worker);
}

function onEvent({ worker, event, runId, step, recorded, epoch, expiredForMs }: WorkerEvent): void {
  const run = label.get(runId) ?? runId;
  if (event === "step") say(`${worker}  ${run}  ${step}`);
  if (event === "completed") say(`${worker}  ${run}  completed`);
  if (event === "reclaimed") say(`${worker}  takes ${run} back: its lease was over for ${expiredForMs} ms`);
  if (event === "refused") {
    refused++;
    say(`${worker}  ${run}  late write under epoch ${epoch} REFUSED: somebody else holds it now`);
  }
  if (event === "claimed" && recorded?.length) {
    say(`${worker}  ${run}  goes on after ${recorded.join(", ")}`);
  }
  if (event === "claimed" && killed?.runId === runId && takeoverMs === 0)
    takeoverMs = Math.round(performance.now() - killed.at);
  if (event === "step" && step === "pack" && worker === "anna" && !killed) {
    killed = { runId, at: performance.now() };
    workers.get("anna")!.kill("SIGKILL");
    say(`        kill -9 anna, in the middle of ${run}`);
  }
  if (event === "step" && step === "pack" && worker === "bert" && !frozen) {
    frozen = runId;
    workers.get("bert")!.kill("SIGSTOP");
    say(`        bert freezes in the middle of ${run} (a long pause, a cut wire)`);
    setTimeout(() => {
      workers.get("bert")!.kill("SIGCONT");
      say("        bert wakes up and does not know that time has passed");
    }, 5_000);
  }
}

for (;;) {
  const { completed = 0 } = await store.runs.count({ env: "demo", queue: group.queue });
  if (completed === RUNS && refused > 0) break;
  await sleep(100);
}
for (const worker of workers.values()) worker.kill("SIGKILL");

const journals = await Promise.all(ids.map((id) => store.journal.read(id)));
const steps = journals.flatMap((journal) => journal!.entries.filter((entry) => entry.kind === "step"));
const doubledSteps = steps.length - RUNS * STEPS;
const lostRuns = journals.filter((journal) => journal?.entries.at(-1)?.kind !== "completed").length;
const ok = doubledSteps === 0 && lostRuns === 0 && refused > 0;
say(
  `${RUNS} of ${RUNS} runs completed, ${steps.length} steps recorded, ${doubledSteps} twice, ${refused} late write refused`,
);
if (json)
  console.log(
    JSON.stringify({
      ok,
      runs: RUNS,
      steps: steps.length,
      takeoverMs,
      doubledSteps,
      refusedWrites: refused,
      lostRuns,
    }),
  );
await store.close();
await server.stop();
process.exitCode = ok ? 0 : 1;
