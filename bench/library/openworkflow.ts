// OpenWorkflow: its worker at the requested concurrency, and a pool of 50 connections.

import { type Input, type Library, NAP_MS, type Reports, STEP_RESULT } from "./library.js";
import { loadPeer } from "./load.js";

type Client = import("openworkflow").OpenWorkflow;

const CONNECTIONS = 50;
const MOST_SLOTS = 100;

function define(client: Client, reports: Reports) {
  const napsBegun = new Map<string, number>();
  return {
    noop: client.defineWorkflow({ name: "noop" }, async ({ input }) => {
      reports.begun(input);
      reports.ended();
    }),
    steps: client.defineWorkflow({ name: "steps" }, async ({ input, step }) => {
      reports.begun(input);
      for (let i = 1; i <= (input as number); i++) await step.run({ name: `step${i}` }, async () => STEP_RESULT);
      reports.ended();
    }),
    echo: client.defineWorkflow({ name: "echo" }, async ({ input }) => {
      reports.begun(input);
      reports.ended();
      return input;
    }),
    nap: client.defineWorkflow({ name: "nap" }, async ({ input, run, step }) => {
      if (!napsBegun.has(run.id)) {
        napsBegun.set(run.id, performance.now());
        reports.begun(input);
      }
      await step.sleep("nap", `${NAP_MS}ms`);
      reports.late(performance.now() - napsBegun.get(run.id)! - NAP_MS);
      reports.ended();
    }),
    parked: client.defineWorkflow({ name: "parked" }, async ({ input, step }) => {
      reports.begun(input);
      await step.sleep("parked", "1h");
    }),
  };
}

export const library: Library = {
  name: "openworkflow",
  packageName: "openworkflow",
  programs: ["noop", "steps", "echo", "nap", "parked"],
  startsMany: false,
  settings: `a pool of ${CONNECTIONS} connections instead of 10; at most ${MOST_SLOTS} slots when draining`,
  share: 0.05,
  pendingSql: (schema) =>
    `select 1 from ${schema}.workflow_runs where status in ('pending', 'running', 'sleeping') limit 1`,
  async open({ url, schema }, reports) {
    const { OpenWorkflow } = await loadPeer<typeof import("openworkflow")>("openworkflow");
    const { BackendPostgres } = await loadPeer<typeof import("openworkflow/postgres")>("openworkflow/postgres");
    const pooled = new URL(url);
    pooled.searchParams.set("max", String(CONNECTIONS));
    const backend = await BackendPostgres.connect(pooled.href, { schema });
    const client = new OpenWorkflow({ backend });
    const programs = define(client, reports);
    return {
      start: (program, input: Input) => programs[program].run(input),
      async work({ concurrency, purpose }) {
        // With more slots than its connections can serve, its leases expire under load.
        const slots = purpose === "drain" ? Math.min(MOST_SLOTS, concurrency) : concurrency;
        const worker = client.newWorker({ concurrency: slots });
        await worker.start();
        return () => worker.stop();
      },
      close: () => backend.stop(),
    };
  },
};
