// One node process as its supervisor sees it: started, frozen, killed, stopped in order.

import { type ChildProcess, fork } from "node:child_process";
import { extname, join } from "node:path";
import { createInterface } from "node:readline";
import type { AppProblem, DevNode } from "../admin/supervisor.js";
import { type World, within } from "../kernel/world.js";
import { isReport, type NodeReport } from "./node-report.js";

export interface ChildOptions {
  readonly world: World;
  readonly name: string;
  /** Which start of this name it is: that of a deployment runs next to the one it replaces. */
  readonly app: string;
  readonly execArgv: readonly string[];
  /** Not as arguments: other users of the machine can read those, and the URL has a password. */
  readonly environment: Readonly<Record<string, string>>;
  readonly onReport: (child: NodeChild, report: NodeReport) => void;
  readonly onOutput: (child: NodeChild, line: string) => void;
  /** Its process has ended; `asked`: it was asked to stop. */
  readonly onEnd: (child: NodeChild, asked: boolean) => void;
}

/** Source and build have this file under different extensions. */
const ENTRY = join(import.meta.dirname, `node-process${extname(import.meta.filename)}`);
/** Longer than the grace that a node gives its work. */
const STOP_MS = 7_000;
const MOST_LINES = 20;

export class NodeChild {
  readonly name: string;
  /** Resolves with null when it is up, or with why it is not. */
  readonly started: Promise<AppProblem | null>;
  readonly #options: ChildOptions;
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #printed: string[] = [];
  #state: DevNode["state"] = "starting";
  #incarnation: string | null = null;
  #problem: AppProblem | null = null;
  #asked = false;
  #thaw = () => {};

  constructor(options: ChildOptions) {
    this.#options = options;
    this.name = options.name;
    this.#process = fork(ENTRY, [], {
      execArgv: [...process.execArgv, ...options.execArgv],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: {
        ...process.env,
        ...options.environment,
        HOLDFAST_DEV_APP: options.app,
        HOLDFAST_NODE_ID: options.name,
      },
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", (line) => this.#print(line));
    }
    this.#ended = new Promise((resolve) => this.#process.once("exit", () => resolve()));
    this.#process.on("error", (error) => this.#print(String(error)));
    const ready = new Promise<void>((resolve) => {
      this.#process.on("message", (message) => {
        if (!isReport(message)) return;
        this.#hear(message);
        if (message.is === "ready" || message.is === "broken") resolve();
      });
    });
    this.started = Promise.race([ready, this.#ended]).then(() => (this.#incarnation ? null : this.#why()));
    void this.#ended.then(() => {
      this.#state = "down";
      this.#thaw();
      options.onEnd(this, this.#asked);
    });
  }

  get node(): DevNode {
    return { name: this.name, incarnation: this.#incarnation, state: this.#state };
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  /** It wakes by itself after `ms`, and does not know that time has passed. */
  freeze(ms: number, onWake: () => void): void {
    this.#state = "frozen";
    this.#process.kill("SIGSTOP");
    this.#thaw = this.#options.world.after(ms, () => {
      if (this.#state !== "frozen") return;
      this.#wake();
      onWake();
    });
  }

  #wake(): void {
    this.#state = "up";
    this.#process.kill("SIGCONT");
  }

  /** In order: it finishes its steps and hands back its runs. */
  async stop(): Promise<void> {
    this.#asked = true;
    if (this.#state === "down") return;
    if (this.#state === "frozen") this.#wake();
    this.#state = "stopping";
    this.#process.kill("SIGTERM");
    if (
      (await within(
        this.#options.world,
        STOP_MS,
        this.#ended.then(() => true),
      )) === null
    )
      this.kill();
    await this.#ended;
  }

  #hear(report: NodeReport): void {
    if (report.is === "ready") {
      this.#incarnation = report.incarnation;
      this.#state = "up";
    }
    if (report.is === "broken") this.#problem = report.problem;
    this.#options.onReport(this, report);
  }

  #print(line: string): void {
    this.#printed.push(line);
    if (this.#printed.length > MOST_LINES) this.#printed.shift();
    this.#options.onOutput(this, line);
  }

  /** A loader that fails before our code runs only prints. */
  #why(): AppProblem {
    return this.#problem ?? { message: "The process ended before it was ready.", frame: this.#printed.join("\n") };
  }
}
