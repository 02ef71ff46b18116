// Runs `holdfast` away from this process's own settings: as a real child process, or faster in this one.

import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommandLine } from "../../src/cli/command-line.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { compiled } from "../harness/compiled.js";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The last line of the output, read as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever is there
  readonly json: any;
}

export interface Around {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const MAIN = compiled(join(import.meta.dirname, "../../src/cli/main.ts"));

/** The program itself. */
export function holdfast(words: readonly string[], { cwd = tmpdir(), env = {} }: Around = {}): Promise<Outcome> {
  const { PATH, HOME } = process.env;
  return new Promise((resolve) => {
    const options = { cwd, env: { PATH, HOME, USER: "ann", ...env }, timeout: 20_000, maxBuffer: 16 * 1024 * 1024 };
    const child = execFile(process.execPath, [MAIN, ...words], options, (_, stdout, stderr) => {
      resolve(outcome(child.exitCode ?? -1, stdout, stderr));
    });
  });
}

/** The same command line without the half second that a process takes to start. */
export async function typed(words: readonly string[], { cwd = tmpdir(), env = {} }: Around = {}): Promise<Outcome> {
  let stdout = "";
  let stderr = "";
  const terminal = {
    write: (text: string) => {
      stdout += text;
    },
    writeError: (text: string) => {
      stderr += text;
    },
    columns: undefined,
    isTTY: false,
    env: { USER: "ann", ...env },
    cwd,
    interrupted: () => new AbortController().signal,
  };
  return outcome(await runCommandLine(words, terminal, systemWorld()), stdout, stderr);
}

function outcome(code: number, stdout: string, stderr: string): Outcome {
  return {
    code,
    stdout,
    stderr,
    get json() {
      return JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
    },
  };
}
