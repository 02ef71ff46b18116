// pg-boss: its own fetch and complete calls in batches when draining, its polling worker at the shortest interval otherwise.

import { type Input, type Library, NAP_MS, type Program, type Reports } from "./library.js";
import { loadPeer } from "./load.js";

type Boss = import("pg-boss").default;
type Job = import("pg-boss").Job;

const QUEUES: readonly Program[] = ["noop", "echo", "nap"];
const BATCH = 1_000;
const LOOPS = 4;

function handle(boss: Boss, { name, data }: Job, reports: Reports): Promise<unknown> | undefined {
  if (name === "nap" && data?.dueAt === undefined) {
    const due = Date.now() + NAP_MS;
    return boss.send("nap", { dueAt: due }, { startAfter: new Date(due) });
  }
  if (name === "nap") reports.late(Date.now() - data!.dueAt!);
  else reports.begun(data?.input ?? null);
  reports.ended();
  return undefined;
}

/** Loops over the queue's fetch until they are stopped; an empty queue is asked again after 50 ms. */
function fetchLoops(boss: Boss, reports: Reports): () => Promise<void> {
  let stopped = false;
  const loop = async (queue: Program) => {
    while (!stopped) {
      const jobs = (await boss.fetch(queue, { batchSize: BATCH })) ?? [];
      await Promise.all(jobs.map((job) => handle(boss, job, reports)));
      if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
      else
        await boss.complete(
          queue,
          jobs.map(({ id }) => id),
        );
    }
  };
  const loops = QUEUES.flatMap((queue) => Array.from({ length: LOOPS }, () => loop(queue)));
  return async () => {
    stopped = true;
    await Promise.all(loops);
  };
}

export const library: Library = {
  name: "pg-boss",
  packageName: "pg-boss",
  programs: QUEUES,
  startsMany: true,
  settings: `draining: ${LOOPS} loops of fetch and complete with batches of ${BATCH}; latency: polling every 0.5 s, its shortest`,
  share: 1,
  pendingSql: (schema) => `select 1 from ${schema}.job where state in ('created', 'retry', 'active') limit 1`,
  async open({ url, schema }, reports) {
    const { default: PgBoss } = await loadPeer<typeof import("pg-boss")>("pg-boss");
    const boss = new PgBoss({ connectionString: url, schema, max: 20, supervise: false, schedule: false });
    boss.on("error", () => {});
    await boss.start();
    for (const queue of QUEUES) await boss.createQueue(queue);
    const dataOf = (input: Input) => (input === null ? {} : { input });
    return {
      start: (program, input) => boss.send(program, dataOf(input)),
      startMany: (program, inputs) => boss.insert(inputs.map((input) => ({ name: program, data: dataOf(input) }))),
      async work({ purpose, concurrency }) {
        if (purpose !== "latency") return fetchLoops(boss, reports);
        const options = { batchSize: concurrency, pollingIntervalSeconds: 0.5 };
        const work = (jobs: Job[]) => Promise.all(jobs.map((job) => handle(boss, job, reports)));
        for (const queue of QUEUES) await boss.work(queue, options, work);
        return async () => {
          for (const queue of QUEUES) await boss.offWork(queue);
        };
      },
      close: () => boss.stop({ graceful: false, timeout: 1_000, wait: true }),
    };
  },
};
