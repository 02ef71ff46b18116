// graphile-worker: batched fetches and completions when draining, as its performance page advises; without them for latency.

import { type Input, type Library, NAP_MS, type Reports, type WorkOptions } from "./library.js";
import { loadPeer } from "./load.js";

interface Payload {
  readonly input?: Input;
  readonly dueAt?: number;
}

function tasksOf(reports: Reports) {
  const plain = async ({ input }: Payload) => {
    reports.begun(input ?? null);
    reports.ended();
  };
  return {
    noop: plain,
    echo: plain,
    // A queue's sleep is a second job that is due later.
    nap: async ({ dueAt }: Payload, { addJob }: GraphileHelpers) => {
      if (dueAt === undefined) {
        const due = Date.now() + NAP_MS;
        await addJob("nap", { dueAt: due }, { runAt: new Date(due) });
        return;
      }
      reports.late(Date.now() - dueAt);
      reports.ended();
    },
  };
}

type GraphileHelpers = import("graphile-worker").JobHelpers;

function batching({ purpose, concurrency }: WorkOptions) {
  if (purpose === "latency") return {};
  const localQueue = { size: Math.max(500, concurrency) };
  return { localQueue, completeJobBatchDelay: 0, failJobBatchDelay: 0, pollInterval: 100 };
}

export const library: Library = {
  name: "graphile-worker",
  packageName: "graphile-worker",
  programs: ["noop", "echo", "nap"],
  startsMany: true,
  settings:
    "draining: concurrentJobs 24, localQueue.size 500, completeJobBatchDelay 0, pollInterval 100; else no batching",
  share: 1,
  pendingSql: (schema) => `select 1 from ${schema}._private_jobs limit 1`,
  async open({ url, schema }, reports) {
    const { Logger, makeWorkerUtils, run } = await loadPeer<typeof import("graphile-worker")>("graphile-worker");
    const logger = new Logger(() => () => {});
    const utils = await makeWorkerUtils({ connectionString: url, schema, logger, maxPoolSize: 50 });
    await utils.migrate();
    const payloadOf = (input: Input): Payload => (input === null ? {} : { input });
    return {
      start: (program, input) => utils.addJob(program, payloadOf(input)),
      startMany: (program, inputs) =>
        utils.addJobs(inputs.map((input) => ({ identifier: program, payload: payloadOf(input) }))),
      async work(options) {
        const concurrentJobs = options.purpose === "drain" ? Math.min(24, options.concurrency) : options.concurrency;
        const maxPoolSize = Math.max(10, Math.min(50, concurrentJobs + 2));
        const worker = { connectionString: url, schema, logger, concurrentJobs, maxPoolSize, ...batching(options) };
        const runner = await run({ preset: { worker }, taskList: tasksOf(reports), noHandleSignals: true });
        return () => runner.stop();
      },
      close: () => utils.release(),
    };
  },
};
