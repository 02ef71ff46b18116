// The sample app on a real cluster, as `npm start` runs it: a process of its own with three nodes and the dashboard.

import { spawn } from "node:child_process";
import { cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";

export interface SampleCluster {
  /** Of the dashboard, with a slash at its end. */
  readonly url: string;
  /** Reads a route of the admin API, or posts to it. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever is there
  api(path: string, body?: object): Promise<any>;
  close(): Promise<void>;
}

type Event = { readonly is: string; readonly [field: string]: unknown };

interface Place {
  /** The compiled command. */
  readonly main: string;
  /** The built dashboard, copied to where the command looks for it. */
  readonly page: string;
  /** The server of the test run: the sample gets a database of its own there. */
  readonly server: string;
}

export async function startSample({ main, page, server }: Place): Promise<SampleCluster> {
  await cp(page, join(dirname(main), "../../dist/dashboard"), { recursive: true });
  const name = `sample_${process.pid}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await onServer(server, `create database ${name}`);
  const words = ["dev", "--sample", "--json", "--port", "0", "--url", url.href];
  const child = spawn(process.execPath, [main, ...words], { cwd: tmpdir(), stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const events: Event[] = [];
  const lines = createInterface({ input: child.stdout });
  const dashboard = await new Promise<string>((resolve, reject) => {
    void ended.then(() => reject(new TypeError(`It ended: ${JSON.stringify(events.at(-1))}`)));
    lines.on("line", (line) => {
      const event = JSON.parse(line) as Event;
      events.push(event);
      if (event.is === "opened") resolve(event["dashboard"] as string);
    });
  });
  return {
    url: dashboard,
    api: async (path, body) => {
      const headers = { "content-type": "application/json", "x-holdfast": "1" };
      const init = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
      return (await fetch(`${dashboard}api/v1${path}`, init)).json();
    },
    async close() {
      child.kill("SIGTERM");
      await ended;
      await onServer(server, `drop database if exists ${name} with (force)`);
    },
  };
}

async function onServer(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}
