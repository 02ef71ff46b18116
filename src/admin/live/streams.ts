// Live streams: server-sent events that are read with `fetch`, bounded in number and in what waits to be read.

import type { World } from "../../kernel/world.js";
import type { LiveEvent } from "../api.js";
import type { Call } from "../call.js";
import { ApiProblem, notFound } from "../problem.js";
import { iso } from "../view/iso.js";
import { type Follower, follow, type Watcher } from "./watcher.js";

const MOST_STREAMS = 200;
const MOST_PER_PRINCIPAL = 5;
const MOST_TOPICS = 50;
const MOST_WAITING_BYTES = 64 * 1024;
const COMMENT_EVERY_MS = 15_000;
/** How often a caller with open streams is asked for again: a revoked token ends them. */
const CHECK_EVERY_MS = 3_000;

/** Where a stream comes from. `isAllowed`: whether its caller would still be let in. */
export interface StreamSource {
  readonly signal: AbortSignal;
  readonly isAllowed: () => Promise<boolean>;
}

interface Stream {
  readonly principal: string;
  readonly isAllowed: () => Promise<boolean>;
  readonly follower: Follower;
  readonly end: () => void;
}

export class Streams {
  readonly #watcher: Watcher;
  readonly #world: World;
  readonly #streams = new Map<string, Stream>();
  #cancelCheck: (() => void) | null = null;

  constructor(watcher: Watcher, world: World) {
    this.#watcher = watcher;
    this.#world = world;
  }

  get size(): number {
    return this.#streams.size;
  }

  async open(call: Call, topics: readonly string[], { signal, isAllowed }: StreamSource): Promise<Response> {
    this.#expectRoom(call.by);
    const now = iso(await call.admin.clock.now());
    const connection = this.#world.token();
    const text = new TextEncoder();
    let end = () => {};
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const write = (line: string) => {
            if ((controller.desiredSize ?? 0) <= 0) return false;
            controller.enqueue(text.encode(line));
            return true;
          };
          const event = <Name extends keyof LiveEvent>(name: Name, data: LiveEvent[Name]) =>
            write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
          const follower: Follower = {
            env: call.env,
            topics: new Map(),
            sent: new Map(),
            seen: new Map(),
            patch: (patch) => event("patch", patch),
            gone: (topic, why) => event("gone", { topic, why }),
          };
          end = this.#ending(connection, follower, controller, () => write(": here\n\n"));
          this.#streams.set(connection, { principal: call.by, isAllowed, follower, end });
          this.#cancelCheck ??= this.#world.after(CHECK_EVERY_MS, () => this.#check());
          event("hello", { connection, now, topics: [...topics] });
          follow(topics.slice(0, MOST_TOPICS), follower);
          this.#watcher.add(follower);
        },
        cancel: () => end(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MOST_WAITING_BYTES }),
    );
    signal.addEventListener("abort", () => end(), { once: true });
    return new Response(body, { headers: { "content-type": "text/event-stream", "x-accel-buffering": "no" } });
  }

  change(call: Call, connection: string, topics: readonly string[]): { readonly outcome: string } {
    const stream = this.#streams.get(connection);
    // A stream of another caller does not exist for this one.
    if (!stream || stream.principal !== call.by) throw notFound("The stream");
    follow(topics.slice(0, MOST_TOPICS), stream.follower);
    this.#watcher.wake();
    return { outcome: "changed" };
  }

  close(): void {
    for (const { end } of [...this.#streams.values()]) end();
  }

  /** Once for all streams of a caller. While that cannot be known, because the store is away, they stay open. */
  #check(): void {
    const callers = new Map([...this.#streams.values()].map((one) => [one.principal, one.isAllowed]));
    const checks = [...callers].map(async ([principal, isAllowed]) => {
      if (await isAllowed().catch(() => true)) return;
      for (const stream of [...this.#streams.values()]) if (stream.principal === principal) stream.end();
    });
    void Promise.all(checks).then(() => {
      this.#cancelCheck = this.#streams.size === 0 ? null : this.#world.after(CHECK_EVERY_MS, () => this.#check());
    });
  }

  /** Ends once, by whichever of disconnect, cancel and close comes first. */
  #ending(
    connection: string,
    follower: Follower,
    controller: ReadableStreamDefaultController<Uint8Array>,
    comment: () => void,
  ): () => void {
    let stopComments = () => {};
    const again = () => {
      stopComments = this.#world.after(COMMENT_EVERY_MS, () => {
        comment();
        again();
      });
    };
    again();
    return () => {
      if (!this.#streams.delete(connection)) return;
      stopComments();
      this.#watcher.remove(follower);
      if (this.#streams.size === 0) {
        this.#cancelCheck?.();
        this.#cancelCheck = null;
      }
      try {
        controller.close();
      } catch {
        // The reader has cancelled it.
      }
    };
  }

  #expectRoom(principal: string): void {
    const mine = [...this.#streams.values()].filter((one) => one.principal === principal).length;
    if (this.#streams.size >= MOST_STREAMS || mine >= MOST_PER_PRINCIPAL) {
      throw new ApiProblem(429, "TOO_MANY_STREAMS", "Too many streams are open. Close one, or poll.");
    }
  }
}
