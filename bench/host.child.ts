// A process with one library in it: executes what the runner asks for and reports what its programs do.

import type { Input, Opened, Place, Program, WorkOptions } from "./library/library.js";
import { type LibraryName, loadLibrary } from "./library/load.js";
import { nowMs } from "./measure.js";

export interface Fill {
  readonly program: Program;
  readonly input: Input;
  readonly count: number;
}

export interface Progress {
  readonly begun: number;
  readonly ended: number;
  /** On the monotonic clock of the machine, the same in every process, in milliseconds. */
  readonly firstBegunAt: number;
  readonly lastEndedAt: number;
}

export interface Usage {
  readonly cpuUs: number;
  readonly rssBytes: number;
  /** What is in use after a collection. How large the process is also depends on when it collected last. */
  readonly heldBytes: number;
}

/** Progress is sent at most this often. */
const PROGRESS_MS = 5;

const library = await loadLibrary(process.argv[2] as LibraryName);
let opened: Opened | undefined;
let rest: (() => Promise<void>) | undefined;
let eachBegin = false;
let sending = false;
let lates: number[] = [];
let progress = { begun: 0, ended: 0, firstBegunAt: 0, lastEndedAt: 0 };

const send = (message: object) => void (process.connected && process.send!(message, () => {}));

function sendProgress(): void {
  if (sending) return;
  sending = true;
  setTimeout(() => {
    sending = false;
    send({ progress });
  }, PROGRESS_MS);
}

const reports = {
  begun(input: Input) {
    if (progress.begun++ === 0) progress.firstBegunAt = nowMs();
    if (eachBegin) send({ begun: { input, at: nowMs() } });
    else sendProgress();
  },
  ended() {
    progress.ended++;
    progress.lastEndedAt = nowMs();
    sendProgress();
  },
  late: (ms: number) => void lates.push(ms),
};

/** Calls `start` this often, with as many calls at a time. */
async function single({ program, input, count }: Fill, inFlight: number): Promise<void> {
  let left = count;
  const caller = async () => {
    while (left-- > 0) await opened!.start(program, input);
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
}

async function batches({ program, input, count }: Fill, size: number): Promise<void> {
  for (let i = 0; i < count; i += size) {
    await opened!.startMany!(program, Array<Input>(Math.min(size, count - i)).fill(input));
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

export const commands = {
  async open(place: Place) {
    opened = await library.open(place, reports);
  },
  async close() {
    await opened?.close();
    opened = undefined;
  },
  fill: (fill: Fill) => timed(() => (opened!.startMany ? batches(fill, 1_000) : single(fill, 50))),
  startSingle: ({ inFlight, ...fill }: Fill & { readonly inFlight: number }) => timed(() => single(fill, inFlight)),
  startBatches: ({ size, ...fill }: Fill & { readonly size: number }) => timed(() => batches(fill, size)),
  /** When the start was acknowledged. */
  async startOne({ program, input }: Omit<Fill, "count">) {
    await opened!.start(program, input);
    return nowMs();
  },
  /** When the library was at work. */
  async work({ watch, ...options }: WorkOptions & { readonly watch?: boolean }) {
    eachBegin = watch ?? false;
    lates = [];
    progress = { begun: 0, ended: 0, firstBegunAt: 0, lastEndedAt: 0 };
    rest = await opened!.work(options);
    return nowMs();
  },
  async rest() {
    await rest?.();
    rest = undefined;
  },
  claims: async () => ({ asked: 0, empty: 0, ...opened!.claims?.() }),
  progress: async (): Promise<Progress> => progress,
  lates: async () => lates,
  /** Without a collection first: its time would count. */
  cpuUs: async () => cpuUs(),
  async usage(): Promise<Usage> {
    globalThis.gc?.();
    const { rss, heapUsed, external } = process.memoryUsage();
    return { cpuUs: cpuUs(), rssBytes: rss, heldBytes: heapUsed + external };
  },
};

export type Commands = typeof commands;

process.on("message", async ({ id, name, argument }: { id: number; name: keyof Commands; argument: never }) => {
  try {
    send({ id, value: (await commands[name](argument)) ?? null });
  } catch (error) {
    send({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.on("disconnect", () => process.exit(0));
send({ ready: true });
