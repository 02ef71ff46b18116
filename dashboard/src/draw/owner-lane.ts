// The owner lane of a run: which node held it when, where a node was lost, how long it had no owner, which late write was refused.

import type { Claim, Holder } from "../live/model.js";
import { ownerStripe } from "./owner-stripe.js";
import { clockTime, duration, plural } from "./words.js";

/** `gap`: its owner was lost and no other had it yet. `idle`: it was released and waited for a slot, a time or a message. */
export type SegmentKind = "queued" | "held" | "gap" | "idle";

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
    if (span.from > free) segments.push(between(before, free, span.from, false, input.waiting));
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
    const from = Math.max(claim.from === null ? end : Date.parse(claim.from), createdAt);
    const written = claim.to === null ? from : Date.parse(claim.to);
    const to = Math.max(from, claim.ended === "held" ? (endedAt ?? now) : written);
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

function between(before: Claim | null, from: number, to: number, open: boolean, waiting: string): Segment {
  const base = { from, to, epoch: null, stripe: null, open };
  const long = duration(to - from);
  if (before === null) return { ...base, kind: "queued", label: `queued ${long}`, text: `Queued for ${long}` };
  if (before.ended === "reclaimed" || before.reclaimed !== null) {
    return { ...base, kind: "gap", label: `no owner ${long}`, text: `No node had it for ${long}` };
  }
  const why = open && waiting !== "" ? waiting : before.ended;
  return { ...base, kind: "idle", label: `${why} ${long}`, text: `Released for ${long}: ${why}` };
}

function marksOf({ claim, to }: Span): readonly Mark[] {
  const marks: Mark[] = [];
  const name = holderName(claim.holder);
  const { reclaimed, epoch } = claim;
  if (reclaimed !== null || claim.ended === "reclaimed") {
    const by = reclaimed?.by ? ` by ${holderName(reclaimed.by)}` : "";
    const when = reclaimed ? `, reclaimed${by} at ${clockTime(Date.parse(reclaimed.at), { fraction: true })}` : "";
    const last = `${name} lost, last write ${clockTime(to, { fraction: true })}`;
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
