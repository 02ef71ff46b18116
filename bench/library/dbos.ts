// DBOS: enqueued by its client, worked on through a queue that is polled every 10 ms instead of every second.

import { type Input, type Library, NAP_MS, type Program, type Reports, STEP_RESULT } from "./library.js";
import { loadPeer } from "./load.js";

type Sdk = typeof import("@dbos-inc/dbos-sdk");

const QUEUE = "bench";
const VERSION = "bench";
const PROGRAMS: readonly Program[] = ["noop", "steps", "echo", "nap", "parked"];

/** DBOS has one runtime per process, whose programs are registered once. */
let current: Reports;
let registered = false;

function register({ DBOS }: Sdk): void {
  if (registered) return;
  registered = true;
  const simple = async (input: Input) => {
    current.begun(input);
    current.ended();
    return input;
  };
  DBOS.registerWorkflow(simple, { name: "noop" });
  DBOS.registerWorkflow((input: Input) => simple(input), { name: "echo" });
  const steps = async (input: Input) => {
    current.begun(input);
    for (let i = 1; i <= (input as number); i++) await DBOS.runStep(async () => STEP_RESULT, { name: `step${i}` });
    current.ended();
  };
  DBOS.registerWorkflow(steps, { name: "steps" });
  const nap = async (input: Input) => {
    current.begun(input);
    const begunAt = performance.now();
    await DBOS.sleep(NAP_MS);
    current.late(performance.now() - begunAt - NAP_MS);
    current.ended();
  };
  DBOS.registerWorkflow(nap, { name: "nap" });
  const parked = async (input: Input) => {
    current.begun(input);
    await DBOS.sleep(3_600_000);
  };
  DBOS.registerWorkflow(parked, { name: "parked" });
}

export const library: Library = {
  name: "dbos",
  packageName: "@dbos-inc/dbos-sdk",
  programs: PROGRAMS,
  startsMany: false,
  settings: "a queue with minPollingIntervalMs 10 instead of 1,000; a pool of 50 connections",
  share: 0.05,
  pendingSql: (schema) =>
    `select 1 from ${schema}.workflow_status where status in ('PENDING', 'ENQUEUED', 'DELAYED') limit 1`,
  async open({ url, schema }, reports) {
    const sdk = await loadPeer<Sdk>("@dbos-inc/dbos-sdk");
    const { DBOS, DBOSClient } = sdk;
    current = reports;
    register(sdk);
    await DBOS.migrate(url, { schemaName: schema });
    const client = await DBOSClient.create({
      systemDatabaseUrl: url,
      systemDatabaseSchemaName: schema,
      systemDatabasePoolSize: 50,
    });
    return {
      start: (workflowName, input) =>
        client.enqueue({ queueName: QUEUE, workflowName, appVersion: VERSION, applicationName: "bench" }, input),
      async work({ concurrency, purpose }) {
        DBOS.setConfig({
          name: "bench",
          systemDatabaseUrl: url,
          systemDatabaseSchemaName: schema,
          systemDatabasePoolSize: 50,
          applicationVersion: VERSION,
          executorID: `bench-${process.pid}`,
          logLevel: "error",
          listenQueues: [QUEUE],
        });
        await DBOS.launch();
        // Its default is no limit, which is also its fastest way through a full queue.
        const limit = purpose === "flight" ? { workerConcurrency: concurrency } : {};
        await DBOS.registerQueue(QUEUE, { ...limit, minPollingIntervalMs: 10 });
        return () => DBOS.shutdown({ workflowCompletionTimeoutMS: 1_000 });
      },
      close: () => client.destroy(),
    };
  },
};
