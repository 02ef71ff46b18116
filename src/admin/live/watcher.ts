// One watcher per process: it asks the store only while streams are open, and once for all of them.

import type { World } from "../../kernel/world.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { Store } from "../../store/contract/store.js";
import type { LiveEvent } from "../api.js";
import { nodeView } from "../handle/nodes.js";
import { entriesFor, entryView, nodesFor, runView } from "../view/run-rows.js";
import { parseTopic, type Topic } from "./topics.js";

type Patch = LiveEvent["patch"];

/** A stream that follows topics. `send` answers false when its reader is too slow. */
export interface Follower {
  readonly env: string;
  /** The text of a topic, and what it means. */
  readonly topics: Map<string, Topic>;
  /** What was sent last for a topic: unchanged answers are not sent again. */
  readonly sent: Map<string, string>;
  /** For run topics: the last entry that was sent. */
  readonly seen: Map<string, number>;
  patch(patch: Patch): boolean;
  gone(topic: string, why: string): void;
}

const TICK_MS = 1_000;
const MOST_ENTRIES = 200;
const NEWEST = 20;
const MOST_QUESTIONS = 100;

export function follow(texts: readonly string[], follower: Pick<Follower, "topics" | "gone">): void {
  follower.topics.clear();
  for (const text of texts) {
    const topic = parseTopic(text);
    if (topic) follower.topics.set(text, topic);
    else follower.gone(text, "it is not a topic");
  }
}

export class Watcher {
  readonly #store: Store;
  readonly #world: World;
  readonly #followers = new Set<Follower>();
  #cancelTick: (() => void) | null = null;
  #looking: Promise<void> | null = null;

  constructor(store: Store, world: World) {
    this.#store = store;
    this.#world = world;
  }

  get followers(): number {
    return this.#followers.size;
  }

  add(follower: Follower): void {
    this.#followers.add(follower);
    this.wake();
  }

  remove(follower: Follower): void {
    this.#followers.delete(follower);
    if (this.#followers.size > 0) return;
    this.#cancelTick?.();
    this.#cancelTick = null;
  }

  /** Looks now: topics have changed, or this process has changed something. */
  wake(): void {
    if (this.#followers.size === 0 || this.#looking) return;
    this.#cancelTick?.();
    this.#looking = this.#look()
      // The database is away: the next look comes.
      .catch(() => {})
      .finally(() => {
        this.#looking = null;
        if (this.#followers.size > 0) this.#cancelTick = this.#world.after(TICK_MS, () => this.wake());
      });
  }

  async #look(): Promise<void> {
    const followers = [...this.#followers];
    const envs = new Set(followers.map(({ env }) => env));
    await Promise.all([this.#runs(followers), ...[...envs].map((env) => this.#lists(env, followers))]);
  }

  /** Two statements for all runs that any stream follows; entries in a third, of runs that have new ones. */
  async #runs(followers: readonly Follower[]): Promise<void> {
    const topics = followers.flatMap(({ topics }) => [...topics.values()]);
    const ids = new Set(
      topics.flatMap((topic) => (topic.kind === "run" ? [topic.id] : topic.kind === "rows" ? topic.ids : [])),
    );
    if (ids.size === 0) return;
    const { runs } = await this.#store.views.runs([...ids]);
    const found = new Map(runs.flatMap((run) => (run ? [[run.id, run] as const] : [])));
    const nodes = await nodesFor(this.#store, [...found.values()]);
    const outlines = await this.#outlines(followers, found);
    const rowOf = (id: string) => {
      const run = found.get(id);
      return run ? runView(run, nodes, outlines.get(id) ?? null) : null;
    };
    for (const follower of followers) {
      for (const [topic, { kind, ...of }] of follower.topics) {
        if (kind === "rows") {
          const rows = (of as { ids: readonly string[] }).ids.flatMap((id) => {
            return found.get(id)?.group.env === follower.env ? (rowOf(id) ?? []) : [];
          });
          this.#send(follower, { kind: "rows", topic, rows });
        } else if (kind === "run") {
          const { id } = of as { id: string };
          const run = found.get(id)?.group.env === follower.env ? rowOf(id) : null;
          if (!run) {
            follower.topics.delete(topic);
            follower.gone(topic, "there is no such run");
            continue;
          }
          const after = follower.seen.get(topic) ?? Number.POSITIVE_INFINITY;
          const entries = (outlines.get(id)?.entries ?? []).filter(({ seq }) => seq > after).map(entryView);
          if (this.#send(follower, { kind: "run", topic, run, entries })) {
            follower.seen.set(
              topic,
              Math.max(entries.at(-1)?.seq ?? 0, after === Number.POSITIVE_INFINITY ? run.seq : after),
            );
          }
        }
      }
    }
  }

  async #outlines(
    followers: readonly Follower[],
    found: ReadonlyMap<string, Pick<RunRecord, "seq" | "state" | "pending">>,
  ) {
    const from = new Map<string, number>();
    for (const { topics, seen } of followers) {
      for (const [text, topic] of topics) {
        if (topic.kind === "rows") for (const id of topic.ids) from.set(id, from.get(id) ?? Number.POSITIVE_INFINITY);
        if (topic.kind !== "run") continue;
        if (!seen.has(text) && topic.after !== null) seen.set(text, topic.after);
        from.set(
          topic.id,
          Math.min(from.get(topic.id) ?? Number.POSITIVE_INFINITY, seen.get(text) ?? Number.POSITIVE_INFINITY),
        );
      }
    }
    const asked = [...from].flatMap(([runId, after]) => {
      const run = found.get(runId);
      return run
        ? [{ runId, after: Math.max(0, Math.min(after, run.seq - entriesFor(run))), limit: MOST_ENTRIES }]
        : [];
    });
    const outlines = asked.length === 0 ? [] : await this.#store.views.outline(asked);
    return new Map(asked.map(({ runId }, i) => [runId, outlines[i] ?? null]));
  }

  async #lists(env: string, all: readonly Follower[]): Promise<void> {
    const followers = all.filter((one) => one.env === env);
    const wants = (kind: Topic["kind"]) =>
      followers.some(({ topics }) => [...topics.values()].some((one) => one.kind === kind));
    const send = (kind: "newest" | "nodes" | "inbox", patch: (topic: string) => Patch) => {
      for (const follower of followers) if (follower.topics.has(kind)) this.#send(follower, patch(kind));
    };
    if (wants("nodes")) {
      const rows = (await this.#store.nodes.list({ env })).map(nodeView);
      send("nodes", (topic) => ({ kind: "nodes", topic, rows }));
    }
    if (wants("newest")) {
      const { runs } = await this.#store.runs.list({ env }, { limit: NEWEST });
      send("newest", (topic) => ({ kind: "newest", topic, ids: runs.map(({ id }) => id) }));
    }
    if (wants("inbox")) {
      const { rows } = await this.#store.views.questions({ env, limit: MOST_QUESTIONS });
      send("inbox", (topic) => ({ kind: "inbox", topic, open: rows.length }));
    }
  }

  /** A reader that is too slow loses the topic, and reads it again when it can. */
  #send(follower: Follower, patch: Patch): boolean {
    const text = JSON.stringify(patch);
    if (follower.sent.get(patch.topic) === text) return true;
    if (follower.patch(patch)) {
      follower.sent.set(patch.topic, text);
      return true;
    }
    follower.topics.delete(patch.topic);
    follower.sent.delete(patch.topic);
    follower.gone(patch.topic, "the reader is too slow");
    return false;
  }
}
