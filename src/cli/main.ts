#!/usr/bin/env node
// The `holdfast` command: passes this process's arguments, streams and environment to the command line.

import { systemWorld } from "../kernel/system-world.js";
import { runCommandLine } from "./command-line.js";
import { keysIn, type Terminal } from "./text/terminal.js";

function readKeys(onKey: (key: string) => void): () => void {
  const hear = (data: Buffer) => keysIn(data.toString()).forEach(onKey);
  process.stdin.setRawMode(true).resume().on("data", hear);
  return () => void process.stdin.off("data", hear).pause().setRawMode(false);
}

async function ask(message: string): Promise<boolean | null> {
  const { confirm } = await import("./library/prompt.js");
  const answer = await confirm({ message, initialValue: false, output: process.stderr });
  return typeof answer === "boolean" ? answer : null;
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
  pipes: { stdin: process.stdin, stdout: process.stdout },
  ...(process.stdin.isTTY && { keys: readKeys }),
  ...(process.stderr.isTTY && { errors: process.stderr }),
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask }),
};

// `holdfast runs | head` closes our output early, which is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

process.exitCode = await runCommandLine(process.argv.slice(2), terminal, systemWorld());
