// `npm run bench -- takeover`: how long a run waits when its node is killed, shut down, or hangs.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { extname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createNode } from "../src/node/create-node.js";
import { postgres } from "../src/store/postgres/index.js";
import { workflow } from "../src/workflow/workflow.js";
import { median } from "./measure.js";

interface Told {
  readonly event: "ready" | "step";
  readonly name: string;
  readonly runId: string;
}

const order = workflow("takeover", async (_ctx, _hangs: boolean) => {});

export async function benchTakeover(url: string, options: { quick: boolean; say: (line: string) => void }) {
  const store = postgres(url);
  await store.migrate();
  const client = await createNode({ store, programs: [] });
  const spawn = async (name: string, ...flags: string[]) => {
    const child = fork(
      join(import.meta.dirname, `takeover.child${extname(import.meta.filename)}`),
      [url, name, ...flags],
      {
        execArgv: process.execArgv,
      },
    );
    await once(child, "message");
    return child;
  };
  const startedOn = (child: ChildProcess, runId: string) =>
    new Promise<number>((resolve) => {
      const onMessage = (told: Told) => {
        if (told.event !== "step" || told.runId !== runId) return;
        child.off("message", onMessage);
        resolve(performance.now());
      };
      child.on("message", onMessage);
    });
  // The survivor, which has been up for longer than its start-up grace.
  const survivor = await spawn("survivor", "--finish");
  const round = async (end: (victim: ChildProcess) => Promise<void> | void) => {
    survivor.kill("SIGSTOP");
    const victim = await spawn("victim");
    const run = await client.start(order, true);
    const begun = startedOn(victim, run.id);
    const taken = startedOn(survivor, run.id);
    await begun;
    survivor.kill("SIGCONT");
    await sleep(200);
    const at = performance.now();
    await end(victim);
    const ms = (await taken) - at;
    victim.kill("SIGKILL");
    await run.result();
    return Math.round(ms);
  };
  const rounds = options.quick ? 3 : 10;
  const killed: number[] = [];
  const handed: number[] = [];
  try {
    await sleep(16_000);
    for (let i = 0; i < rounds; i++) {
      killed.push(await round((victim) => void victim.kill("SIGKILL")));
      options.say(`kill -9: ${killed.at(-1)} ms`);
    }
    for (let i = 0; i < Math.min(rounds, 5); i++) {
      handed.push(
        await round((victim) => {
          victim.kill("SIGTERM");
          // The step under way ends; the run is handed back before the next one.
          victim.send("end");
        }),
      );
      options.say(`SIGTERM: ${handed.at(-1)} ms`);
    }
    const hungMs = await round((victim) => void victim.kill("SIGSTOP"));
    options.say(`hung: ${hungMs} ms`);
    const medianMs = median(killed);
    const worstMs = Math.max(...killed);
    const handBackMs = Math.max(...handed);
    const ok = medianMs <= 2_500 && worstMs <= 5_000 && handBackMs <= 500 && hungMs <= 15_000 + 1_000 + 1_000;
    return { ok, medianMs, worstMs, handBackMs, hungMs };
  } finally {
    survivor.kill("SIGKILL");
    await client.stop();
    await store.close();
  }
}
