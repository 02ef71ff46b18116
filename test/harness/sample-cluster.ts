// The sample app on a real cluster, as `npm start` runs it: a process of its own with three nodes and the dashboard.

import { spawn } from "node:child_process";
import { chmod, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

export interface SampleCluster {
  /** Of the dashboard, with a slash at its end. */
  readonly url: string;
  /** Reads a route of the admin API. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever is there
  api(path: string): Promise<any>;
  close(): Promise<void>;
}

type Event = { readonly is: string; readonly [field: string]: unknown };

/** `main`: the compiled command. `page`: the built dashboard, copied to where the command looks for it. */
export async function startSample(main: string, page: string): Promise<SampleCluster> {
  await cp(page, join(dirname(main), "../../dist/dashboard"), { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), "holdfast-sample-"));
  // As root the embedded server runs under another account, which must be able to pass through.
  await chmod(folder, 0o711);
  const child = spawn(process.execPath, [main, "dev", "--sample", "--json", "--port", "0"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const events: Event[] = [];
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise<string>((resolve, reject) => {
    void ended.then(() => reject(new TypeError(`It ended: ${JSON.stringify(events.at(-1))}`)));
    lines.on("line", (line) => {
      const event = JSON.parse(line) as Event;
      events.push(event);
      if (event.is === "opened") resolve(event["dashboard"] as string);
    });
  });
  return {
    url,
    api: async (path) => (await fetch(`${url}api/v1${path}`)).json(),
    async close() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
