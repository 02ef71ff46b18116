// A place for one process fault: an env of its own, processes that can be harmed, a node of this process that takes over, and a file of begun steps.

import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { type Client, createClient } from "../../src/client/create-client.js";
import { createNode, type Node } from "../../src/node/create-node.js";
import type { NodeOptions } from "../../src/node/node-options.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { compiled } from "../harness/compiled.js";
import { mergeOptions } from "../harness/merge-options.js";
import { hostileWith, neighbourWith } from "./hostile.js";

type Options = Partial<Omit<NodeOptions, "store" | "programs">>;

export interface Begun {
  readonly runId: string;
  readonly step: string;
  readonly pid: number;
}

export interface Victim {
  readonly pid: number;
  readonly process: ChildProcess;
  /** What it reported, in order. */
  readonly told: readonly { readonly event: string; readonly detail?: unknown }[];
  /** Null while it lives: its exit code or the name of the signal that ended it. */
  readonly end: () => number | string | null;
}

interface Limits {
  readonly files?: number;
  /** Another way to the same database. */
  readonly url?: string;
}

const CHILD = join(import.meta.dirname, "hostile.child.ts");
const QUICK = {
  timing: { housekeeping: 100, pollInterval: 50, pollMax: 200, presenceGrace: 300, lease: "30s" },
} as const;

export class Stage {
  readonly env: string;
  readonly client: Client<readonly []>;
  readonly #where: { readonly url: string; readonly schema: string };
  readonly #folder: string;
  readonly #store: PostgresStore;
  readonly #ends: (() => Promise<unknown>)[] = [];

  private constructor(env: string, where: { url: string; schema: string }, folder: string, store: PostgresStore) {
    this.env = env;
    this.#where = where;
    this.#folder = folder;
    this.#store = store;
    this.client = createClient({ store, env });
  }

  static async open(env: string, where: { url: string; schema: string }): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-faults-"));
    const store = openPostgres(where.url, { schema: where.schema });
    const stage = new Stage(env, where, folder, store);
    writeFileSync(stage.#log, "");
    return stage;
  }

  async close(): Promise<void> {
    await Promise.all(this.#ends.map((end) => end()));
    await this.#store.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #log(): string {
    return join(this.#folder, "begun");
  }

  /** A process whose steps do harm, and which may have a limit on its open files. */
  async victim(id: string, options: Options = {}, limits: Limits = {}): Promise<Victim> {
    const given = mergeOptions({ ...QUICK, identity: { id } }, { env: this.env, ...options });
    const { files, url = this.#where.url } = limits;
    const wish = JSON.stringify({ ...this.#where, url, log: this.#log, ...given });
    // What a dying process prints is not news here.
    const stdio = ["ignore", "ignore", "ignore", "ipc"] as const;
    const child =
      files === undefined
        ? fork(compiled(CHILD), [wish], { execArgv: [], stdio: [...stdio] })
        : spawn("sh", ["-c", `ulimit -n ${files}; exec "$0" "$@"`, process.execPath, compiled(CHILD), wish], {
            stdio: [...stdio],
          });
    const told: { event: string; detail?: unknown }[] = [];
    let end: number | string | null = null;
    child.on("message", (message) => told.push(message as (typeof told)[number]));
    child.on("exit", (code, signal) => {
      end = code ?? signal;
    });
    this.#ends.push(async () => {
      if (end !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    });
    const victim = { pid: child.pid!, process: child, told, end: () => end };
    await this.until(() => end !== null || told.some(({ event }) => event === "ready"));
    if (end !== null) throw new TypeError(`${id} ended with ${end} before it was ready`);
    return victim;
  }

  /** A node of this process whose steps do no harm and take no time. */
  async heir(options: Options = {}): Promise<Node> {
    const note = (runId: string, step: string) =>
      appendFileSync(this.#log, `${JSON.stringify({ runId, step, pid: process.pid })}\n`);
    const store = openPostgres(this.#where.url, { schema: this.#where.schema });
    const node = await createNode({
      store,
      programs: [hostileWith(async () => {}, note), neighbourWith(async () => {}, note)],
      ...mergeOptions({ ...QUICK, identity: { id: "heir" } }, { env: this.env, ...options }),
    });
    this.#ends.push(() => node.stop({ grace: 0 }).finally(() => store.close()));
    return node;
  }

  /** Lets harm end that waits for it. */
  release(): void {
    writeFileSync(`${this.#log}.released`, "");
  }

  begun(runId?: string): Begun[] {
    const lines = readFileSync(this.#log, "utf8").split("\n").filter(Boolean);
    const all = lines.map((line) => JSON.parse(line) as Begun);
    return runId === undefined ? all : all.filter((one) => one.runId === runId);
  }

  /** How often each step of a run was begun. */
  counts(runId: string): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { step } of this.begun(runId)) counts[step] = (counts[step] ?? 0) + 1;
    return counts;
  }

  /** Not `expect.poll`, which knows only one test at a time. */
  async until(holds: () => boolean, timeout = 30_000): Promise<void> {
    const giveUpAt = performance.now() + timeout;
    while (!holds()) {
      if (performance.now() > giveUpAt) throw new TypeError(`after ${timeout} ms not yet: ${holds}`);
      await pass(20);
    }
  }
}
