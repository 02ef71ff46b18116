// Runs libraries in turn, round by round, each in processes and a schema of its own.

import { randomUUID } from "node:crypto";
import type pg from "pg";
import { Host, untilAll } from "./host.js";
import type { Library, WorkOptions } from "./library/library.js";
import { type LibraryName, loadLibrary } from "./library/load.js";
import { median, nowMs, rate } from "./measure.js";
import { oneRowCommits } from "./one-row-commits.js";
import type { AgainstOther, Figure, Quantity, Samples } from "./report/figure.js";
import { summary } from "./report/summary.js";
import type { Server } from "./server.js";

/** How long the end of a run may take after its program has returned. */
const PENDING_MS = 60_000;

export interface Scale {
  readonly name: "full" | "quick" | "tiny";
  readonly rounds: number;
  /** Of the sizes that the works state. */
  readonly factor: number;
}

export interface Contest {
  readonly figures: Figure[];
  readonly ratios: AgainstOther[];
  readonly notes: string[];
  readonly oneRowCommits: number;
  readonly samples: ReadonlyMap<string, Samples>;
}

/** The hosts of one measurement, in a schema that is dropped after it. */
export interface Place {
  readonly library: Library;
  readonly schema: string;
  readonly hosts: readonly Host[];
}

export interface SideBySideOptions {
  readonly server: Server;
  readonly pool: pg.Pool;
  readonly scale: Scale;
  readonly libraries: readonly LibraryName[];
  readonly say: (line: string) => void;
}

export class SideBySide {
  readonly server: Server;
  readonly pool: pg.Pool;
  readonly scale: Scale;
  readonly say: (line: string) => void;
  readonly #names: readonly LibraryName[];
  readonly #hosts = new Map<string, Host>();

  constructor({ server, pool, scale, libraries, say }: SideBySideOptions) {
    this.server = server;
    this.pool = pool;
    this.scale = scale;
    this.say = say;
    this.#names = libraries;
  }

  /** Of those that take part: `wanted`, in their order. */
  async libraries(wanted: (library: Library) => boolean): Promise<Library[]> {
    const all = await Promise.all(this.#names.map((name) => loadLibrary(name)));
    return all.filter(wanted);
  }

  /** At least one, so that the smallest scale still does everything once. */
  size(full: number, library?: Library): number {
    return Math.max(1, Math.round(full * this.scale.factor * (library?.share ?? 1)));
  }

  /** A trial has two processes where a measurement has more. */
  processes(full: number): number {
    return this.scale.name === "tiny" ? Math.min(2, full) : full;
  }

  /** The same processes for all rounds of a work: they are measured warm. */
  async #host(library: Library, number: number): Promise<Host> {
    const key = `${library.name} ${number}`;
    const host = this.#hosts.get(key) ?? (await Host.spawn(library.name as LibraryName));
    this.#hosts.set(key, host);
    return host;
  }

  /** `first`: the number of its first process; places that are open at the same time need different ones. */
  async inPlace<T>(
    library: Library,
    { processes = 1, first = 0 }: { readonly processes?: number; readonly first?: number },
    work: (place: Place) => Promise<T>,
  ): Promise<T> {
    const schema = `bench_${randomUUID().slice(0, 8)}`;
    const hosts: Host[] = [];
    for (let i = first; i < first + this.processes(processes); i++) hosts.push(await this.#host(library, i));
    // One after the other: the first creates the tables.
    for (const host of hosts) await host.call("open", { url: this.server.url, schema });
    const result = await work({ library, schema, hosts });
    await Promise.all(hosts.map((host) => host.call("close")));
    await this.pool.query(`drop schema if exists ${schema} cascade`);
    return result;
  }

  /** Statistics and visibility as on a server that has been up for some time. */
  async settle({ schema }: Place): Promise<void> {
    const { rows } = await this.pool.query<{ name: string }>(
      "select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables where schemaname = $1",
      [schema],
    );
    for (const { name } of rows) await this.pool.query(`vacuum analyze ${name}`);
  }

  /**
   * Runs per second, from the moment when the first process is at work to that when none is pending; the runs were started before.
   * The first claim counts: a library that takes a thousand at once would else get those for nothing.
   */
  async drain({ library, schema, hosts }: Place, total: number, options: WorkOptions): Promise<number> {
    // Opened before the clock; its settings end with it.
    const looker = await this.pool.connect();
    try {
      await looker.query("set /* bench */ enable_seqscan = off");
      const readyAt = await Promise.all(hosts.map((host) => host.call("work", options)));
      await untilAll(hosts, () => hosts.reduce((sum, { ended }) => sum + ended, 0) >= total);
      const endedAt = await untilNonePending(looker, library.pendingSql(schema));
      const progress = await Promise.all(hosts.map((host) => host.call("progress")));
      const firstBegins = progress.filter(({ begun }) => begun > 0).map(({ firstBegunAt }) => firstBegunAt);
      const begunAt = Math.min(...readyAt, ...firstBegins);
      await Promise.all(hosts.map((host) => host.call("rest")));
      return (total * 1000) / (endedAt - begunAt);
    } finally {
      looker.release(true);
    }
  }

  /**
   * Each library once per round, the order moved on by one from round to round; one round before the first that counts.
   * A library that fails is left out, with a note.
   */
  async contest(
    libraries: readonly Library[],
    quantities: readonly Quantity[],
    measure: (library: Library) => Promise<readonly number[]>,
    rounds = this.scale.rounds,
  ): Promise<Contest> {
    const values = new Map(libraries.map((library) => [library, [] as (readonly number[])[]]));
    const notes: string[] = [];
    const commits: number[] = [];
    const warmUps = this.scale.name === "tiny" ? 0 : 1;
    for (let round = -warmUps; round < rounds; round++) {
      const at = (round + warmUps) % libraries.length;
      for (const library of [...libraries.slice(at), ...libraries.slice(0, at)]) {
        if (!values.has(library)) continue;
        try {
          const measured = await measure(library);
          if (round >= 0) values.get(library)!.push(measured);
        } catch (error) {
          if (library.name === "holdfast") throw error;
          values.delete(library);
          notes.push(`${library.name} is left out: ${firstLine(error)}`);
        }
      }
      if (round >= 0) commits.push(await this.#oneRowCommits());
    }
    return { ...summary(quantities, values, commits), notes, oneRowCommits: Math.round(median(commits)) };
  }

  /** What the machine does at the same time: single-row transactions per second over 20 connections. */
  async #oneRowCommits(): Promise<number> {
    await this.pool.query("create schema if not exists bench_calibration");
    await this.pool.query("drop table if exists bench_calibration.bench_rows");
    await this.pool.query("create table bench_calibration.bench_rows (id uuid primary key, data text)");
    return rate(() => oneRowCommits(this.pool, "bench_calibration", this.size(4_000), 20));
  }

  async end(): Promise<void> {
    await this.endHosts();
    await this.pool.query("drop schema if exists bench_calibration cascade");
  }

  /** After a work, so that the next one begins with new processes. */
  async endHosts(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map((host) => host.end()));
    this.#hosts.clear();
  }
}

const firstLine = (error: unknown) => String(error instanceof Error ? error.message : error).split("\n")[0]!;

/** When no run was left whose end is not stored. */
async function untilNonePending(looker: pg.ClientBase, sql: string): Promise<number> {
  const giveUpAt = nowMs() + PENDING_MS;
  // The server's statistics keep a comment inside a statement, not one in front of it.
  const marked = sql.replaceAll("select 1", "select /* bench */ 1");
  while ((await looker.query(marked)).rows.length > 0) {
    if (nowMs() > giveUpAt) throw new Error(`Some runs have not ended ${PENDING_MS / 1000} s after their programs.`);
  }
  return nowMs();
}
