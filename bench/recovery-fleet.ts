// The processes of one figure: they share a schema, and the fleet knows which of them works on which run.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { extname, join } from "node:path";
import pg from "pg";
import { createClient } from "../src/index.js";
import { type PostgresStore, postgres } from "../src/store/postgres/index.js";
import type { ChildConfig } from "./recovery.child.js";
import { programs, type Report } from "./recovery-programs.js";

export interface Begun {
  readonly runId: string;
  readonly epoch: number;
  readonly by: ChildProcess;
  readonly at: number;
}

type SpawnOptions = ChildConfig["options"] & { readonly version?: 1 | 2; readonly url?: string };

let fleets = 0;

export class Fleet implements AsyncDisposable {
  readonly url: string;
  readonly schema = `recovery_${++fleets}`;
  readonly store: PostgresStore;
  readonly client: ReturnType<typeof createClient>;
  readonly alive = new Set<ChildProcess>();
  readonly begun: Begun[] = [];
  readonly #pool: pg.Pool;
  readonly #waiting = new Set<() => void>();

  private constructor(url: string) {
    this.url = url;
    this.store = postgres(url, { schema: this.schema });
    // A client does no housekeeping, so one of the processes reclaims the runs.
    this.client = createClient({ store: this.store });
    this.#pool = new pg.Pool({ connectionString: url, max: 2 }).on("error", () => {});
  }

  static async open(url: string): Promise<Fleet> {
    const fleet = new Fleet(url);
    // On an external server, an earlier benchmark may have left it behind.
    await fleet.#pool.query(`drop schema if exists ${fleet.schema} cascade`);
    await fleet.store.migrate();
    return fleet;
  }

  /** Resolves when its node is at work. */
  async spawn({ version = 1, url = this.url, ...options }: SpawnOptions = {}): Promise<ChildProcess> {
    const config: ChildConfig = { url, schema: this.schema, version, options };
    const child = fork(join(import.meta.dirname, `recovery.child${extname(import.meta.filename)}`), [], {
      execArgv: process.execArgv,
      env: { ...process.env, HOLDFAST_BENCH_CHILD: JSON.stringify(config) },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.alive.add(child);
    child.once("exit", () => this.alive.delete(child));
    child.on("message", ({ event, runId, epoch }: Report) => {
      if (event === "begun") this.begun.push({ runId: runId!, epoch: epoch!, by: child, at: performance.now() });
      for (const look of this.#waiting) look();
    });
    await Promise.race([once(child, "message"), once(child, "exit")]);
    return child;
  }

  /** Starts runs of `held` and waits until each has begun under its first claim. */
  async hold(count: number, workMs = 0): Promise<string[]> {
    const outcomes = await this.client.startMany(
      programs.held,
      Array.from({ length: count }, () => ({ input: workMs })),
    );
    const ids = outcomes.map((one) => (one as { run: { id: string } }).run.id);
    await this.until(() => ids.every((id) => this.latest(id)), 30_000);
    return ids;
  }

  latest(runId: string): Begun | undefined {
    return this.begun.findLast((one) => one.runId === runId);
  }

  holds(child: ChildProcess, ids: readonly string[]): string[] {
    return ids.filter((id) => this.latest(id)?.by === child);
  }

  /** When each of these runs had begun under a later claim; the time limit for those that did not. */
  async takenOver(ids: readonly string[], since: number, limitMs: number): Promise<number> {
    const again = (id: string) => this.begun.find(({ runId, epoch }) => runId === id && epoch > 1);
    const done = await this.until(() => ids.every(again), limitMs);
    if (!done) await this.#complain(ids.filter((id) => !again(id)));
    return done ? Math.round(Math.max(...ids.map((id) => again(id)!.at)) - since) : limitMs;
  }

  /** What is known of runs that were not taken over in time. */
  async #complain(ids: readonly string[]): Promise<void> {
    const text = `select r.id, r.state, r.epoch::int, r.crashes, r.lease_until - clock_timestamp() as lease, to_jsonb(n) as owner
      from ${this.schema}.runs r left join ${this.schema}.nodes n on n.incarnation = r.owner where r.id = any($1)`;
    for (const row of (await this.#pool.query(text, [ids])).rows) console.error(JSON.stringify(row));
  }

  /** Checks again at every report of a process; false after the time limit. */
  until(true_: () => unknown, limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (answer: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(answer);
      };
      const look = () => true_() && end(true);
      const timer = setTimeout(() => end(false), limitMs);
      this.#waiting.add(look);
      look();
    });
  }

  /** Lets the runs that still hang under their first claim end. */
  async finish(ids: readonly string[]): Promise<void> {
    for (const child of this.alive) if (child.connected) child.send("release");
    await Promise.all(ids.map((id) => this.client.run(id).result({ timeout: "30s" })));
  }

  /** How many runs are in each state, by program. */
  async states(program: string): Promise<Record<string, number>> {
    const { rows } = await this.#pool.query<{ state: string; n: number }>(
      `select r.state, count(*)::int as n from ${this.schema}.runs r
       join ${this.schema}.claim_groups g on g.id = r.claim_group where g.program = $1 group by 1`,
      [program],
    );
    return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
  }

  async taken(ids: readonly string[]): Promise<number> {
    const text = `select coalesce(sum(epoch - 1), 0)::int as n from ${this.schema}.runs where id = any($1)`;
    return (await this.#pool.query<{ n: number }>(text, [ids])).rows[0]!.n;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.alive) child.kill("SIGKILL");
    await this.store.close();
    await this.#pool.end();
  }
}

/** Resolves when the process is gone. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  await exit;
}
