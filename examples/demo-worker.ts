// One worker process of the demonstration: claims runs, does their steps, commits each under its fence.

import { setTimeout as sleep } from "node:timers/promises";
import { Committer } from "../src/engine/committer.js";
import { ClaimLost } from "../src/kernel/claim.js";
import { systemWorld } from "../src/kernel/system-world.js";
import type { ClaimedRun } from "../src/store/contract/runs.js";
import { postgres } from "../src/store/postgres/index.js";

const LEASE_MS = 2_000;
const STEPS = ["charge", "pack", "ship"];
const [url, name, group] = process.argv.slice(2) as [string, string, string];

const world = systemWorld();
const store = postgres(url);
const committer = new Committer(store.runs, world);
const owner = world.token();
const tell = (event: object) => process.send!({ worker: name, ...event });

async function work(run: ClaimedRun): Promise<void> {
  const writer = committer.open(run, run.seq);
  let held = true;
  const renewing = (async () => {
    while (held) {
      await sleep(LEASE_MS / 3);
      if (held) await store.runs.renew([run], LEASE_MS);
    }
  })();
  try {
    const journal = await store.journal.read(run.runId);
    const done = new Set(journal!.entries.filter((entry) => entry.kind === "step").map((entry) => entry.name));
    tell({ event: "claimed", runId: run.runId, epoch: run.epoch, recorded: [...done] });
    for (const step of STEPS.filter((step) => !done.has(step))) {
      tell({ event: "step", runId: run.runId, step });
      await sleep(400);
      await writer.commit([{ kind: "append", entry: { kind: "step", name: step } }]);
    }
    await writer.commit([{ kind: "complete", output: { codec: "json", data: '"done"' } }]);
    tell({ event: "completed", runId: run.runId });
  } catch (error) {
    if (!(error instanceof ClaimLost)) throw error;
    tell({ event: "refused", runId: run.runId, epoch: run.epoch });
  } finally {
    held = false;
    await renewing;
  }
}

process.on("disconnect", () => process.exit(0));
for (;;) {
  for (const { runId, previousOwner, expiredForMs } of await store.runs.sweepExpired({ limit: 100 })) {
    tell({ event: "reclaimed", runId, previousOwner, expiredForMs });
  }
  const request = { owner, token: world.token(), groupIds: [Number(group)], limit: 1, leaseMs: LEASE_MS };
  for (const run of await store.runs.claim(request)) await work(run);
  await sleep(100);
}
