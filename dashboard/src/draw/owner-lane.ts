// The owner lane of a run: which node held it when, where a node was lost, how long it had no owner, which late write was refused.

import type { Claim, Holder } from "../live/model.js";
import { ownerStripe } from "./owner-stripe.js";
import { clockTime, duration, plural } from "./words.js";

/**
 * `gap`: its owner was lost and no other had it yet. `idle`: it was released and waited for a slot, a time or a message. `taken`: within
 * it a node took it, but the store does not record when.
 */
export type SegmentKind = "queued" | "held" | "gap" | "idle" | "taken";

export interface Segment {
  readonly kind: SegmentKind;
  readonly from: number;
  readonly to: number;
  readonly epoch: number | null;
  /** The owner's colour; null when there is no owner. */
  readonly stripe: number | null;
  /** Short, for inside the bar. */
  readonly label: string;
  /** A whole sentence, for the list and the tooltip. */
  readonly text: string;
  /** It is still so. */
  readonly open: boolean;
}

export interface Mark {
  readonly kind: "lost" | "refused";
  readonly at: number;
  readonly epoch: number;
  readonly text: string;
}

export interface OwnerLane {
  readonly segments: readonly Segment[];
  readonly marks: readonly Mark[];
}

export interface LaneInput {
  readonly claims: readonly Claim[];
  readonly createdAt: number;
  /** Null while it has not ended. */
  readonly endedAt: number | null;
  readonly now: number;
  /** What it waits for when no claim is open. */
  readonly waiting: string;
}

interface Span {
  readonly claim: Claim;
  readonly from: number;
  readonly to: number;
}

export function ownerLane(input: LaneInput): OwnerLane {
  const spans = spansOf(input);
  const segments: Segment[] = [];
  let free = input.createdAt;
  let before: Claim | null = null;
  for (const span of spans) {
    segments.push(...until(span, before, free, input.waiting));
    segments.push(heldBy(span));
    free = Math.max(free, span.to);
    before = span.claim;
  }
  if (input.endedAt === null && before?.ended !== "held" && input.now > free) {
    segments.push(between(before, free, input.now, true, input.waiting));
  }
  return { segments, marks: spans.flatMap(marksOf) };
}

/** A claim without entries begins where the one before it ended: the store does not record when a claim was taken. */
function spansOf({ claims, createdAt, endedAt, now }: LaneInput): readonly Span[] {
  let end = createdAt;
  return claims.map((claim) => {
    const first = isMute(claim) ? claim.reclaimed!.at : claim.from;
    const from = Math.max(first === null ? end : Date.parse(first), createdAt);
    const written = claim.to === null ? from : Date.parse(claim.to);
    const heard = claim.heard === null ? written : Date.parse(claim.heard);
    const to = Math.max(from, claim.ended === "held" ? (endedAt ?? now) : written, heard);
    end = claim.reclaimed === null ? to : Math.max(to, Date.parse(claim.reclaimed.at));
    return { claim, from, to };
  });
}

function heldBy({ claim, from, to }: Span): Segment {
  const name = holderName(claim.holder);
  const open = claim.ended === "held";
  const how = open ? "holds it now" : claim.reclaimed ? "was lost" : `released it: ${claim.ended}`;
  return {
    kind: "held",
    from,
    to,
    epoch: claim.epoch,
    stripe: claim.holder === null ? null : ownerStripe(name),
    label: name,
    text: `${name} held claim ${claim.epoch} for ${duration(to - from)} and ${how}`,
    open,
  };
}

/** Entries of these kinds are written before or without work. */
const AT_ONCE: readonly string[] = ["take", "parked", "task", "enqueue", "snapshot", "patched", "start", "begun"];

/** A claim whose first entry ends a call had worked on it before; so had one that was lost before its first entry. */
export function workedBefore(claim: Claim): boolean {
  const { begins } = claim;
  return begins === null ? isMute(claim) : !AT_ONCE.includes(begins) && !begins.endsWith(".begun");
}

/** It was reclaimed, and of its holder there is neither an entry nor a last sign of life. */
function isMute({ from, heard, reclaimed }: Claim): boolean {
  return from === null && heard === null && reclaimed !== null;
}

/** What was before a claim's first entry: it had no owner until it was given back, and work began some time after that. */
function until({ claim, from }: Span, before: Claim | null, free: number, waiting: string): readonly Segment[] {
  if (from <= free) return [];
  if (!workedBefore(claim) || (before !== null && before.reclaimed === null))
    return [between(before, free, from, false, waiting)];
  const given = before === null ? free : Math.min(Math.max(free, Date.parse(before.reclaimed!.at)), from);
  const gap = given > free ? [between(before, free, given, false, waiting)] : [];
  return given < from ? [...gap, taken(claim, given, from)] : gap;
}

function taken({ epoch, holder }: Claim, from: number, to: number): Segment {
  const [name, long] = [holderName(holder), duration(to - from)];
  return {
    kind: "taken",
    from,
    to,
    epoch,
    stripe: holder === null ? null : ownerStripe(name),
    label: `queued, then ${name}`,
    text: `Queued, then taken by ${name}, which wrote its first entry after ${long}`,
    open: false,
  };
}

function between(before: Claim | null, from: number, to: number, open: boolean, waiting: string): Segment {
  const base = { from, to, epoch: null, stripe: null, open };
  const long = duration(to - from);
  if (before === null) return { ...base, kind: "queued", label: `queued ${long}`, text: `Queued for ${long}` };
  if (before.ended === "reclaimed" || before.reclaimed !== null) {
    return { ...base, kind: "gap", label: `no owner ${long}`, text: `No node had it for ${long}` };
  }
  const why = open && waiting !== "" ? waiting : before.ended;
  return {
    ...base,
    kind: "idle",
    label: open ? `${long} · ${why}` : `${why} ${long}`,
    text: `Released for ${long}: ${why}`,
  };
}

function marksOf({ claim, to }: Span): readonly Mark[] {
  const marks: Mark[] = [];
  const name = holderName(claim.holder);
  const { reclaimed, epoch } = claim;
  if (reclaimed !== null || claim.ended === "reclaimed") {
    const by = reclaimed?.by ? ` by ${holderName(reclaimed.by)}` : "";
    const when = reclaimed ? `, reclaimed${by} at ${clockTime(Date.parse(reclaimed.at), { fraction: true })}` : "";
    const written =
      claim.to === null ? "nothing written" : `last write ${clockTime(Date.parse(claim.to), { fraction: true })}`;
    const last = `${name} lost, ${written}`;
    marks.push({ kind: "lost", at: to, epoch, text: `${last}${when}, claim ${epoch} → ${epoch + 1}` });
  }
  const refused = reclaimed?.refused ?? 0;
  if (reclaimed !== null && refused > 0) {
    const at = Date.parse(reclaimed.at);
    const writes = plural(refused, "late write");
    marks.push({ kind: "refused", at, epoch, text: `${writes} of ${name} under claim ${epoch} refused` });
  }
  return marks;
}

/** Falls back to the beginning of the incarnation. */
export function holderName(holder: Holder | null): string {
  return holder === null ? "a node" : (holder.name ?? holder.incarnation.slice(0, 8));
}
