// A node process whose steps harm it. Each begun step is a line in a file, which survives the process.

import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import { setTimeout as pass } from "node:timers/promises";
import { createNode, type NodeOptions } from "../../src/index.js";
import { postgres } from "../../src/store/postgres/index.js";
import { type Harm, hostileWith, neighbourWith } from "./hostile.js";

interface Wish extends Partial<Omit<NodeOptions, "store" | "programs">> {
  readonly url: string;
  readonly schema: string;
  /** The file of the begun steps. */
  readonly log: string;
}

const { url, schema, log, ...options } = JSON.parse(process.argv[2]!) as Wish;
process.on("disconnect", () => process.exit(0));
const tell = (event: string, detail?: unknown) => process.connected && process.send!({ event, detail });
/** Opened before any harm: a process without file descriptors can still write to it. */
const lines = openSync(log, "a");
/** What happens when the step behind the harm begins: the step that did the harm is recorded then. */
let later: (() => void) | null = null;
const note = (runId: string, step: string) => {
  writeSync(lines, `${JSON.stringify({ runId, step, pid: process.pid })}\n`);
  if (step === "after") later?.();
};
/** Without the event loop, which may be blocked. */
const isReleased = () => existsSync(`${log}.released`);

async function act(harm: Harm): Promise<unknown> {
  switch (harm) {
    case "exit":
      return process.exit(0);
    case "abort":
      return process.abort();
    case "throw later":
      later = () =>
        setImmediate(() => {
          throw new TypeError("thrown after its step had returned");
        });
      return;
    case "reject later":
      later = () => void Promise.reject(new TypeError("rejected after its step had returned"));
      return;
    case "spin for ever":
      for (;;);
    case "spin until released":
      while (!isReleased());
      return;
    case "no files until released":
      return useUpFiles();
  }
}

/** Until it is released the process can open no file and no connection. */
async function useUpFiles(): Promise<void> {
  const open: number[] = [];
  const useUp = () => {
    try {
      for (;;) open.push(openSync("/dev/null", "r"));
    } catch {
      // EMFILE
    }
  };
  useUp();
  tell("no files", open.length);
  // What a broken connection frees is used up, too.
  for (; !isReleased(); await pass(20)) useUp();
  for (const file of open) closeSync(file);
}

const programs = [hostileWith(act, note), neighbourWith((ms) => pass(ms), note)];
const node = await createNode({
  store: postgres(url, { schema, queryTimeout: "2s", retryFor: "500ms" }),
  programs,
  ...options,
});
for (const name of ["claim.lost", "run.reclaimed", "run.settled"] as const) {
  node.on(name, ({ runId }) => tell(name, { runId }));
}
node.on("lease.renew_failed", ({ error }) => {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  tell("renew failed", { code, cause: cause?.code });
});
tell("ready");
