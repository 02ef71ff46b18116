// What the holder of a claim may do in one commit. Every effect writes exactly one journal entry, in order,
// so a commit of n effects moves the run's sequence by n and a repeated commit finds itself in the journal.

import type { Payload } from "../codec/payload.js";
import type { NewRun } from "./new-run.js";

/** Something to remember: a step's result, a wait that began, a value drawn. */
export interface AppendEffect {
  readonly kind: "append";
  readonly entry: { readonly kind: string; readonly name: string; readonly key?: string; readonly payload?: Payload };
}

/** Moves one inbox message into the journal. */
export interface TakeEffect {
  readonly kind: "take";
  /** The message's key in the run's inbox. */
  readonly messageKey: string;
  /** Which message was read there: after a failover that lost it, another may have its key. */
  readonly messageId?: string;
}

/** Starts a child run; its end arrives in this run's inbox under the key `child:<id>`, or `child:<id>:<generation>` after a retry. */
export interface EnqueueEffect {
  readonly kind: "enqueue";
  readonly name: string;
  /** The number of the call that starts it, where the journal does not show it: calls before it were withdrawn. */
  readonly call?: string;
  readonly run: Omit<NewRun, "key" | "parentId" | "deferred" | "attributes">;
  /**
   * A task. Its end is counted in this run's row and in those of the tasks that need it, in the very commit that ends it; the
   * inbox gets a message only when it fails. `needs`: earlier tasks of this commit; until all have ended it is blocked.
   */
  readonly task?: { readonly needs: readonly string[] };
}

export interface CompleteEffect {
  readonly kind: "complete";
  readonly output: Payload;
}

/** Ends the run without a result. `quarantined` stops it until a person decides: those that wait for its end keep waiting. */
export interface FailEffect {
  readonly kind: "fail";
  readonly as: "failed" | "dead" | "cancelled" | "skipped" | "quarantined";
  readonly reason: Payload;
}

/** Releases the claim, to be claimed again after a delay. Counts as one failure. */
export interface RetryEffect {
  readonly kind: "retry";
  readonly delayMs: number;
  readonly error: Payload;
}

/**
 * Releases the claim and waits. The run wakes after `wakeInMs` (null: never by time) or when its inbox holds
 * `wakeAfter` unread messages, or at once if the inbox has grown beyond what this holder had seen.
 */
export interface ParkEffect {
  readonly kind: "park";
  readonly wakeInMs: number | null;
  readonly wakeAfter: number;
  /** `inboxSeq` as the holder knew it when it decided to park. */
  readonly seenInboxSeq: number;
  /** Waits for its tasks: wakes when the last of them has ended, or at once when none is left. */
  readonly forTasks?: boolean;
}

/** Releases the claim in order: claimable at once, and not counted as a crash. */
export interface HandBackEffect {
  readonly kind: "handBack";
}

/**
 * Releases the claim because this node's code does not fit the journal: uncounted, for a node of another build. Nodes of this
 * build do not claim it again in this generation. While no live node is left that has not tried, the run is quarantined.
 */
export interface MisfitEffect {
  readonly kind: "misfit";
  /** The holder's build. */
  readonly build: string;
  readonly reason: Payload;
}

/** Releases the claim and stays out of the queue until it is resumed. */
export interface PauseEffect {
  readonly kind: "pause";
}

/**
 * Starts the next generation of the run with other input: the same run, key and inbox. The sequence continues; replay
 * reads from this entry.
 */
export interface ContinueEffect {
  readonly kind: "continue";
  readonly input: Payload;
  /** Messages that were taken in and not delivered to the program: unread again. */
  readonly reopen: readonly string[];
}

export type SettleEffect =
  | CompleteEffect
  | FailEffect
  | RetryEffect
  | ParkEffect
  | HandBackEffect
  | MisfitEffect
  | PauseEffect
  | ContinueEffect;
export type Effect = AppendEffect | TakeEffect | EnqueueEffect | SettleEffect;

/** The one journal entry that an effect writes; both stores write the same. */
export interface EffectEntry {
  readonly kind: string;
  readonly name: string;
  readonly key: string | null;
  readonly payload: Payload | null;
}

/** All that code outside of the stores has to know of one kind of effect. How it is checked: store/check/claim/effect-checks.ts. */
interface EffectKind<E extends Effect> {
  /** Whether the claim ends with it. At most one per commit, and the last. */
  readonly settles: E extends SettleEffect ? true : false;
  /** Whether it writes to other rows than the run's own and its journal. */
  readonly writesElsewhere: (effect: E) => boolean;
  /** A taken message's name and payload are the message's own: the store fills them in. */
  readonly entry: (effect: E) => EffectEntry;
  /** What it carries, for measuring a commit before anything is checked: whatever it is, it answers. */
  readonly payload: (effect: E) => Payload | null | undefined;
}

const never = () => false;
const always = () => true;
const entryAs = (kind: string, payload: Payload | null = null): EffectEntry => ({ kind, name: "", key: null, payload });

/** One line per kind: the compiler asks for it. */
export const EFFECTS: { readonly [Kind in Effect["kind"]]: EffectKind<Extract<Effect, { kind: Kind }>> } = {
  append: {
    settles: false,
    writesElsewhere: never,
    entry: ({ entry: { kind, name, key = null, payload = null } }) => ({ kind, name, key, payload }),
    payload: ({ entry }) => entry?.payload,
  },
  take: {
    settles: false,
    writesElsewhere: always,
    entry: ({ messageKey }) => ({ kind: "take", name: "", key: messageKey, payload: null }),
    payload: () => null,
  },
  enqueue: {
    settles: false,
    writesElsewhere: always,
    entry: ({ task, name, run, call }) => ({
      kind: task ? "task" : "enqueue",
      name,
      key: run.id,
      payload: call === undefined ? null : { codec: "json", data: call },
    }),
    payload: ({ run }) => run?.input,
  },
  complete: {
    settles: true,
    writesElsewhere: never,
    entry: ({ output }) => entryAs("completed", output),
    payload: ({ output }) => output,
  },
  fail: {
    settles: true,
    writesElsewhere: never,
    entry: ({ as, reason }) => entryAs(as, reason),
    payload: ({ reason }) => reason,
  },
  retry: {
    settles: true,
    writesElsewhere: never,
    entry: ({ error }) => entryAs("retry", error),
    payload: ({ error }) => error,
  },
  park: {
    settles: true,
    writesElsewhere: ({ forTasks }) => forTasks === true,
    entry: () => entryAs("parked"),
    payload: () => null,
  },
  handBack: { settles: true, writesElsewhere: never, entry: () => entryAs("handed-back"), payload: () => null },
  misfit: {
    settles: true,
    writesElsewhere: always,
    entry: ({ build, reason }) => ({ kind: "misfit", name: build, key: null, payload: reason }),
    payload: ({ reason }) => reason,
  },
  pause: { settles: true, writesElsewhere: never, entry: () => entryAs("paused"), payload: () => null },
  continue: {
    settles: true,
    writesElsewhere: always,
    entry: ({ input }) => entryAs("start", input),
    payload: ({ input }) => input,
  },
};

const kindOf = (effect: Effect) => EFFECTS[effect.kind] as unknown as EffectKind<Effect>;

/** Whether the claim ends with this effect. At most one per commit, and the last. */
export function settles(effect: Effect): effect is SettleEffect {
  return kindOf(effect).settles;
}

/** Whether the run itself is over with this effect. */
export function ends(effect: Effect): boolean {
  return effect.kind === "complete" || (effect.kind === "fail" && effect.as !== "quarantined");
}

export function writesElsewhere(effect: Effect): boolean {
  return kindOf(effect).writesElsewhere(effect);
}

export function entryOf(effect: Effect): EffectEntry {
  return kindOf(effect).entry(effect);
}

/** Roughly what effects send to the store. Measured before anything is checked: whatever they are, it answers. */
export function bytesOf(effects: readonly Effect[]): number {
  if (!Array.isArray(effects)) return 0;
  let bytes = 0;
  for (const effect of effects as readonly (Effect | null | undefined)[]) {
    const isKnown = typeof effect?.kind === "string" && Object.hasOwn(EFFECTS, effect.kind);
    bytes += 64 + (isKnown ? (kindOf(effect).payload(effect)?.data?.length ?? 0) : 0);
  }
  return bytes;
}
