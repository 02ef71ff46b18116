// A process with one library in it, from the side of the runner.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { extname, join } from "node:path";
import type { Commands, Progress } from "./host.child.js";
import type { Input } from "./library/library.js";
import type { LibraryName } from "./library/load.js";

interface Message {
  readonly id?: number;
  readonly value?: unknown;
  readonly error?: string;
  readonly progress?: Progress;
  readonly begun?: { readonly input: Input; readonly at: number };
  readonly ready?: boolean;
}

/**
 * For every library alike. 64 MB for young objects, as docs/operating.md says: with the default of 16, what hundreds of runs in flight
 * hold is copied by each collection and then promoted.
 */
const FLAGS = ["--expose-gc", "--no-deprecation", "--max-semi-space-size=64"];

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** What a process wrote last on standard error; some libraries write there for every late heartbeat. */
function lastOf({ stderr }: ChildProcess): () => string {
  let text = "";
  stderr!.on("data", (data) => {
    text = `${text}${data}`.slice(-2_000);
  });
  return () => text.trim();
}

export class Host {
  readonly library: LibraryName;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #watching = new Set<() => void>();
  #calls = 0;
  /** How many programs returned since its work began. */
  ended = 0;
  begun = 0;
  /** Called at each begin, when the work is watched. */
  onBegun: (input: Input, at: number) => void = () => {};

  private constructor(library: LibraryName, child: ChildProcess, errors: () => string) {
    this.library = library;
    this.#child = child;
    child.on("message", (message: Message) => this.#receive(message));
    child.once("exit", (code, signal) => {
      const error = new Error(`The process of ${library} ended with ${signal ?? code}: ${errors()}`);
      for (const { reject } of this.#pending.values()) reject(error);
    });
  }

  static async spawn(library: LibraryName): Promise<Host> {
    const file = join(import.meta.dirname, `host.child${extname(import.meta.filename)}`);
    const child = fork(file, [library], {
      execArgv: [...process.execArgv, ...FLAGS],
      // Some libraries report their start on standard output, where the JSON belongs.
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    const errors = lastOf(child);
    const [first] = await Promise.race([once(child, "message"), once(child, "exit")]);
    if (!(first as Message)?.ready) throw new Error(`${library} could not be loaded: ${errors()}`);
    return new Host(library, child, errors);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  #receive({ id, value, error, progress, begun }: Message): void {
    if (progress) this.#moved(progress);
    if (begun) this.onBegun(begun.input, begun.at);
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id!);
    if (error) pending.reject(new Error(`${this.library}: ${error}`));
    else pending.resolve(value as never);
  }

  #moved({ begun, ended }: Progress): void {
    this.begun = begun;
    this.ended = ended;
    for (const look of this.#watching) look();
  }

  call<Name extends keyof Commands>(
    name: Name,
    ...[argument]: Parameters<Commands[Name]>
  ): Promise<Awaited<ReturnType<Commands[Name]>>> {
    const id = ++this.#calls;
    if (name === "work") this.#moved({ begun: 0, ended: 0, firstBegunAt: 0, lastEndedAt: 0 });
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.send({ id, name, argument });
    });
  }

  watch(look: () => void): () => void {
    this.#watching.add(look);
    return () => this.#watching.delete(look);
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }
}

/** Resolves when the hosts together have come as far as `reached` asks for; fails after the time limit. */
export function untilAll(hosts: readonly Host[], reached: () => boolean, limitMs = 300_000): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      clearTimeout(timer);
      for (const leave of leaves) leave();
      end();
    };
    const look = () => {
      if (reached()) settle(resolve);
    };
    const where = () =>
      hosts.map(({ library, begun, ended }) => `${library}: ${begun} begun, ${ended} ended`).join("; ");
    const late = () => settle(() => reject(new Error(`Not done after ${limitMs / 1000} s. ${where()}`)));
    const timer = setTimeout(late, limitMs);
    const leaves = hosts.map((host) => host.watch(look));
    look();
  });
}
