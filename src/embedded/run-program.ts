// Runs a program to its end and returns its output.

import { spawn } from "node:child_process";

/** The account a program runs under; null for our own. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

export interface Outcome {
  /** 0 on success; null when a signal ended it or it could not be started. */
  readonly code: number | null;
  readonly output: string;
  /** Why it could not be started: ENOENT, EACCES, EPERM. */
  readonly spawnError: string | null;
}

export interface RunOptions {
  readonly account: Account | null;
  readonly cwd: string;
  readonly env?: Record<string, string>;
}

export function runProgram(program: string, args: string[], options: RunOptions): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      ...options.account,
      cwd: options.cwd,
      env: options.env ?? baseEnv(),
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
    });
    let output = "";
    const collect = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error: NodeJS.ErrnoException) => {
      resolve({ code: null, output: error.message, spawnError: error.code ?? "UNKNOWN" });
    });
    child.on("close", (code) => resolve({ code, output, spawnError: null }));
  });
}

/** A clean environment: the caller's PGDATA, PGPORT, LANG or TZ must not reach the server. */
export function baseEnv(): Record<string, string> {
  const env: Record<string, string> = { LC_ALL: "C", TZ: "UTC" };
  for (const name of ["PATH", "SystemRoot", "TEMP", "TMP"]) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}
