// `holdfast dev`: a development cluster on this machine, with PostgreSQL, three node processes and the dashboard.

import { existsSync } from "node:fs";
import { extname, join, relative, resolve } from "node:path";
import { createClient } from "../../client/create-client.js";
import type { ClusterEvent } from "../../dev/cluster.js";
import { type DevServer, startDev } from "../../dev/dev-server.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { type DevView, jsonView, lineView } from "../dev/dev-view.js";
import { keyHandler } from "../dev/keys.js";
import { screenView } from "../dev/screen-view.js";
import { CommandMisused } from "../error.js";
import { wholeNumber } from "../options.js";

const OPTIONS = {
  sample: { type: "boolean", description: "run the sample app, with some load, instead of your own" },
  once: { type: "boolean", description: "with --sample: show a crash and a late write, check the outcome, and end" },
  port: {
    type: "string",
    value: "N",
    description: "of the dashboard; default: 4110, or the next free one",
    parse: (text: string) => wholeNumber("port", text, { from: 0, to: 65_535 }),
  },
} as const satisfies Options;

export const dev = defineCommand({
  name: "dev",
  takes: ["[APP]"],
  summary: "run an app on a cluster of this machine: PostgreSQL, three nodes, dashboard",
  details:
    "APP is a file that exports programs; default: app.ts, app.js, src/app.ts or src/app.js. A change of the code is a rolling\n" +
    "deployment. Without --url an embedded server keeps its data in .holdfast/postgres. The dashboard is on loopback only.",
  options: OPTIONS,
  run: (call) => (call.values.once ? playOnce(call) : serve(call)),
});

const APPS = ["app.ts", "app.mts", "app.js", "app.mjs", "src/app.ts", "src/app.js"];
const DEFAULT_PORT = 4110;
const FREEZE_MS = 8_000;
const FREEZE_ONCE_MS = 6_000;

function appOf({ arguments: [given], values, terminal: { cwd } }: Call<typeof OPTIONS>): string {
  if (values.sample) {
    if (given !== undefined) throw new CommandMisused("--sample runs the sample app; omit APP");
    return join(import.meta.dirname, "../../dev/sample", `programs${extname(import.meta.filename)}`);
  }
  return resolve(cwd, given ?? APPS.find((name) => existsSync(join(cwd, name))) ?? "app.ts");
}

interface Opening {
  readonly env: string;
  readonly port: number;
  readonly freezeMs: number;
  readonly watches: boolean;
}

function open(
  call: Call<typeof OPTIONS>,
  view: DevView,
  opening: Opening,
  onEvent: (event: ClusterEvent) => void,
): Promise<DevServer> {
  const { world } = call;
  const url = call.values.url ?? null;
  const onNotice = (text: string) => view.notice(text);
  return startDev({ world, app: appOf(call), url, onNotice, onEvent, ...opening });
}

/** Until ctrl-c, `q` or SIGTERM. */
async function serve(call: Call<typeof OPTIONS>): Promise<Report> {
  const { terminal, world, values } = call;
  const isSample = values.sample === true;
  const app = relative(terminal.cwd, appOf(call));
  const stop = new AbortController();
  terminal.interrupted().addEventListener("abort", () => stop.abort());
  const kept = values.url === undefined ? "the data stays in .holdfast/postgres" : "the data stays in the database";
  let server: DevServer | null = null;
  const supervisor = () => server?.cluster ?? null;
  const screen =
    terminal.keys && terminal.isTTY && !values.json
      ? screenView({ ...call, title: isSample ? "sample app" : app, supervisor })
      : null;
  const view = screen ?? (values.json ? jsonView(call) : lineView(call, false));
  const release = screen
    ? terminal.keys!(
        keyHandler({ view: screen, supervisor, dashboard: () => server?.url ?? null, quit: () => stop.abort() }),
      )
    : () => {};
  try {
    const env = isSample ? (call.values.env ?? "sample") : call.env;
    const opening = { env, port: values.port ?? DEFAULT_PORT, freezeMs: FREEZE_MS, watches: !isSample };
    let hear: (event: ClusterEvent) => void = () => {};
    server = await open(call, view, opening, (event) => {
      view.heard(event);
      hear(event);
    });
    view.opened(server.url, server.database);
    const load = isSample ? await sampleLoad(call, server, env) : null;
    if (load) hear = (event) => event.is === "report" && load.heard(event.report);
    if (!stop.signal.aborted) await new Promise((end) => stop.signal.addEventListener("abort", end));
    load?.stop();
    view.notice(`stopping; ${kept}`);
  } finally {
    release();
    await server?.close();
    view.close();
  }
  // What the screen showed is gone with it.
  return {
    text: screen ? `Stopped; ${kept}.\n` : "",
    json: { app, stoppedAt: new Date(world.wallNow()).toISOString() },
  };
}

async function sampleLoad({ world, terminal }: Call, { store, deployed }: DevServer, env: string) {
  const { Load } = await import("../../dev/sample/load.js");
  const load = new Load({
    // Its warnings would be written over the screen.
    client: createClient({ store, env, logger: false }),
    world,
    onProblem: (error) => terminal.writeError(`${String(error)}\n`),
  });
  void deployed.then(() => load.start());
  return load;
}

/** Needs no person and no terminal; ends with the figures, or with an error when one of them is wrong. */
async function playOnce(call: Call<typeof OPTIONS>): Promise<Report> {
  if (!call.values.sample) throw new CommandMisused("--once plays the sample app; add --sample");
  const { world } = call;
  const view = lineView(call, call.values.json === true);
  // An env of its own for every demonstration: the figures are about its runs only.
  const env = `demo-${world.wallNow().toString(36)}`;
  let hear: (event: ClusterEvent) => void = () => {};
  const opening = { env, port: call.values.port ?? 0, freezeMs: FREEZE_ONCE_MS, watches: false };
  const server = await open(call, view, opening, (event) => hear(event));
  try {
    view.opened(server.url, server.database);
    await server.deployed;
    const { nodes } = server.cluster.state();
    view.notice(`three node processes are up: ${nodes.map(({ name }) => name).join(", ")}`);
    const { Story } = await import("../../dev/sample/story.js");
    const { store, cluster } = server;
    const client = createClient({ store, env });
    const onLine = (text: string, tone?: "harm" | "good") =>
      view.notice(text, tone === "harm" ? "red" : tone === "good" ? "green" : undefined);
    const story = new Story({ world, store, client, cluster, freezeMs: FREEZE_ONCE_MS, onLine });
    hear = (event) => story.heard(event);
    return { text: "", json: { ...(await story.play()) } };
  } finally {
    await server.close();
  }
}
