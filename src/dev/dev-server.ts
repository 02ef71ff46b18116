// A development cluster in one call: a PostgreSQL server, node processes that serve an app, and the dashboard on loopback.

import { basename } from "node:path";
import { type Dashboard, dashboard } from "../admin/index.js";
import { type EmbeddedPostgres, startEmbedded } from "../embedded/index.js";
import type { World } from "../kernel/world.js";
import { type PostgresStore, postgres } from "../store/postgres/index.js";
import { Cluster, type ClusterEvent } from "./cluster.js";
import { watchFiles } from "./watch-files.js";

export interface DevOptions {
  readonly world: World;
  /** The file whose programs are served. */
  readonly app: string;
  readonly env: string;
  /** A database of your own; null: an embedded server in `.holdfast/postgres` of the current folder. */
  readonly url: string | null;
  /** Of the dashboard. The next free one is taken when it is not free; 0: any. */
  readonly port: number;
  /** A change of a source file deploys it. */
  readonly watches: boolean;
  readonly freezeMs: number;
  readonly onNotice: (text: string) => void;
  readonly onEvent: (event: ClusterEvent) => void;
}

export interface DevServer {
  /** The address of the dashboard. */
  readonly url: string;
  readonly database: string;
  readonly store: PostgresStore;
  readonly cluster: Cluster;
  /** When the first version of the code is up, or known to be broken. */
  readonly deployed: Promise<void>;
  /** Stops nodes, dashboard and the server that was started; the data stays. */
  close(): Promise<void>;
}

const NAMES = ["node-a", "node-b", "node-c"];
const DOWN_MS = 15_000;
const MOST_PORTS = 20;
/** The person at this machine clicks freely. */
const WRITES_PER_MINUTE = 600;

/** Resolves before the code of the app is loaded: the page is there, and shows why it cannot be. */
export async function startDev(options: DevOptions): Promise<DevServer> {
  const { world, app, env, onEvent, onNotice } = options;
  const server = options.url === null ? await startEmbedded({ onNotice }) : null;
  const url = server?.url ?? options.url ?? "";
  const store = postgres(url);
  try {
    await store.migrate();
  } catch (error) {
    await store.close();
    await server?.stop();
    throw error;
  }
  // Another development server of this folder has nodes of these names.
  const names = server?.reused ? NAMES.map((name) => `${name}-${process.pid}`) : NAMES;
  const environment = { HOLDFAST_DATABASE_URL: url, HOLDFAST_ENV: env };
  const cluster = new Cluster({
    world,
    app,
    names,
    environment,
    freezeMs: options.freezeMs,
    downMs: DOWN_MS,
    onEvent,
  });
  const site = dashboard({ store, envs: [env], writesPerMinute: WRITES_PER_MINUTE }, world, cluster);
  const address = await listen(site, options.port, onNotice);
  const deployed = cluster.deploy();
  const unwatch = options.watches
    ? watchFiles(app, world, (file) => {
        onNotice(`${basename(file)} changed`);
        void cluster.deploy();
      })
    : () => {};
  return {
    url: address,
    database: databaseText(server, url),
    store,
    cluster,
    deployed,
    async close() {
      unwatch();
      await cluster.stop();
      await site.close();
      await store.close();
      await server?.stop();
    },
  };
}

async function listen(site: Dashboard, port: number, onNotice: (text: string) => void): Promise<string> {
  for (let tried = 0; ; tried++) {
    try {
      const { url } = await site.listen({ port: port === 0 ? 0 : port + tried });
      if (tried > 0) onNotice(`port ${port} is taken; the dashboard is on ${port + tried}`);
      return url;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "EADDRINUSE" || tried >= MOST_PORTS) throw error;
    }
  }
}

/** Without user and password. */
function databaseText(server: EmbeddedPostgres | null, url: string): string {
  if (server) return `PostgreSQL on 127.0.0.1:${server.port}, from an npm package`;
  return `PostgreSQL on ${URL.canParse(url) ? new URL(url).host : "the given address"}`;
}
