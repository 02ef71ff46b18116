// Runs start.child.ts as a real process, under any account and from any folder.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { EmbeddedOptions } from "../../src/embedded/index.js";
import { compiled } from "../harness/compiled.js";

export interface ChildRequest {
  options?: Omit<EmbeddedOptions, "onNotice">;
  refuge?: string;
  /** A fault point at which the process kills itself. */
  killAt?: string;
}

export interface Started {
  url: string;
  port: number;
  dataDir: string;
  pid: number;
  reused: boolean;
  notices: string[];
}

export interface Surroundings {
  script?: string;
  cwd?: string;
  uid?: number;
  gid?: number;
  env?: Record<string, string>;
  /** Put before `node …`, e.g. to change the mounts it sees. */
  wrapper?: string[];
}

export interface StartChild {
  readonly pid: number;
  /** What the process printed; rejects with its standard error when it ended without output. */
  readonly started: Promise<Started>;
  readonly ended: Promise<void>;
  /** "stop" calls stop() and exits; "exit" leaves without. */
  tell(command: "stop" | "exit"): Promise<void>;
  signal(signal: NodeJS.Signals): Promise<void>;
}

const SCRIPT = compiled(fileURLToPath(new URL("start.child.ts", import.meta.url)));

export function startChild(request: ChildRequest, around: Surroundings = {}): StartChild {
  const node = [process.execPath, around.script ?? SCRIPT, JSON.stringify(request)];
  const [program, ...args] = [...(around.wrapper ?? []), ...node];
  const child = spawn(program!, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...around.env },
    ...(around.cwd === undefined ? {} : { cwd: around.cwd }),
    ...(around.uid === undefined ? {} : { uid: around.uid }),
    ...(around.gid === undefined ? {} : { gid: around.gid }),
  });
  child.stdin.on("error", () => {});
  const ended = once(child, "exit").then(() => {});
  const started = firstLine(child);
  // Callers that need the output await it; a child that is killed on purpose never prints any.
  started.catch(() => {});
  return {
    pid: child.pid!,
    started,
    ended,
    async tell(command) {
      child.stdin.write(`${command}\n`);
      await ended;
    },
    async signal(signal) {
      child.kill(signal);
      await ended;
    },
  };
}

function firstLine(child: ChildProcessByStdio<Writable, Readable, Readable>): Promise<Started> {
  let complaints = "";
  child.stderr.on("data", (chunk: Buffer) => {
    complaints += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    createInterface(child.stdout).once("line", (line) => resolve(JSON.parse(line) as Started));
    child.once("close", () => reject(new TypeError(`the child ended: ${complaints}`)));
  });
}
