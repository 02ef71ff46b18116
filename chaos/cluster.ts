// The processes: one PostgreSQL, and nodes that each reach it through a proxy of their own.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { postgres } from "../src/store/postgres/index.js";
import { type FaultProxy, startProxy } from "../test/harness/proxy.js";
import { installAudit } from "./audit.js";
import { Database } from "./database.js";
import type { Mark } from "./programs.js";

const STOP_MS = 8_000;
const STDERR_KEPT = 2_000;

export interface Member {
  readonly name: string;
  readonly proxy: FaultProxy;
  process: ChildProcess | null;
  /** Something is being done to it: what ends it, early or in time. */
  relief: (() => void) | null;
}

export class Cluster {
  readonly database: Database;
  readonly members: Member[] = [];
  /** The way of the outside client. */
  readonly clientProxy: FaultProxy;
  /** Processes that ended although nobody killed them, and what they had to say. */
  readonly surprises: string[] = [];
  readonly #folder: string;
  readonly #expected = new WeakSet<ChildProcess>();

  private constructor(database: Database, clientProxy: FaultProxy, folder: string) {
    this.database = database;
    this.clientProxy = clientProxy;
    this.#folder = folder;
  }

  static async start(nodes: number): Promise<Cluster> {
    const database = await Database.start();
    const store = postgres(database.url);
    await store.migrate();
    await store.close();
    await installAudit(database);
    const folder = await mkdtemp(join(tmpdir(), "holdfast-chaos-log-"));
    const cluster = new Cluster(database, await startProxy(database.address), folder);
    await writeFile(cluster.#logPath, "");
    for (let i = 0; i < nodes; i++) {
      const name = `node-${String.fromCharCode(97 + i)}`;
      cluster.members.push({ name, proxy: await startProxy(database.address), process: null, relief: null });
    }
    process.once("exit", () => cluster.#killAll());
    await Promise.all(cluster.members.map((member) => cluster.spawn(member)));
    return cluster;
  }

  get clientUrl(): string {
    return this.clientProxy.url(this.database.url);
  }

  get #logPath(): string {
    return join(this.#folder, "effects.jsonl");
  }

  /** Resolves when the node is at work, or ended before that. */
  async spawn(member: Member): Promise<void> {
    const args = [member.proxy.url(this.database.url), member.name, this.#logPath];
    const child = fork(join(import.meta.dirname, "node.child.ts"), args, {
      execArgv: ["--import", import.meta.resolve("tsx")],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    member.process = child;
    let said = "";
    child.stderr!.on("data", (chunk) => {
      said = `${said}${chunk}`.slice(-STDERR_KEPT);
    });
    child.on("message", (told: { event: string; error?: string }) => {
      if (told.event === "run.broken") this.surprises.push(`${member.name}: run broken: ${told.error}`);
    });
    child.on("exit", (code, signal) => {
      if (!this.#expected.has(child))
        this.surprises.push(`${member.name} ended by itself (${code ?? signal}): ${said}`);
    });
    await Promise.race([once(child, "message"), once(child, "exit")]);
  }

  kill(member: Member, signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): void {
    if (member.process === null) return;
    this.#expected.add(member.process);
    member.process.kill(signal);
    if (signal === "SIGKILL") member.process = null;
  }

  /** Every process that is alive, stopped in order, and after a while not so. */
  async stopNodes(): Promise<void> {
    await Promise.all(
      this.members.map(async (member) => {
        const child = member.process;
        if (child === null || child.exitCode !== null) return;
        const ended = once(child, "exit");
        this.kill(member, "SIGTERM");
        if (await Promise.race([ended.then(() => true), pass(STOP_MS, false, { ref: false })])) return;
        this.surprises.push(`${member.name} did not stop within ${STOP_MS} ms`);
        this.kill(member);
      }),
    );
  }

  /** What the nodes wrote down before they began a step; survives any kill. */
  async marks(): Promise<Mark[]> {
    const lines = (await readFile(this.#logPath, "utf8")).split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as Mark);
  }

  /** Answers where the data is when it was to be kept. */
  async stop(options: { keep: boolean }): Promise<string | null> {
    this.#killAll();
    await Promise.all([this.clientProxy.stop(), ...this.members.map(({ proxy }) => proxy.stop())]);
    await rm(this.#folder, { recursive: true, force: true });
    return this.database.stop(options);
  }

  #killAll(): void {
    for (const member of this.members) this.kill(member);
  }
}
