#!/usr/bin/env node
// The `holdfast` command: passes this process's arguments, streams and environment to the command line.

import { systemWorld } from "../kernel/system-world.js";
import { runCommandLine } from "./command-line.js";
import type { Terminal } from "./text/terminal.js";

function readKeys(onKey: (key: string) => void): () => void {
  const hear = (data: Buffer) => onKey(data.toString());
  process.stdin.setRawMode(true).resume().on("data", hear);
  return () => void process.stdin.off("data", hear).pause().setRawMode(false);
}

const terminal: Terminal = {
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
  get columns() {
    return process.stdout.columns;
  },
  isTTY: process.stdout.isTTY ?? false,
  env: process.env,
  cwd: process.cwd(),
  interrupted() {
    const controller = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => controller.abort());
    return controller.signal;
  },
  ...(process.stdin.isTTY && { keys: readKeys }),
};

// `holdfast runs | head` closes our output early, which is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

process.exitCode = await runCommandLine(process.argv.slice(2), terminal, systemWorld());
