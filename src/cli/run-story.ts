// Renders a run for people: facts, timeline, waits, unread messages.

import type { TaskStatus } from "../client/run-tasks.js";
import { isEnded } from "../kernel/run/run-state.js";
import type { ClaimRecord } from "../store/contract/claim/claims.js";
import type { Message } from "../store/contract/inbox/inbox.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Deferral, RunRecord } from "../store/contract/run/runs.js";
import type { Call } from "./command.js";
import type { PendingWait } from "./pending-waits.js";
import { nameOf, type PastClaim, reclaimedText } from "./run-claims.js";
import { doing, type Surroundings, troubles } from "./run-situation.js";
import { taskCells } from "./run-tasks.js";
import { type Colour, type Paint, STATE_COLOURS } from "./text/paint.js";
import { payloadLine, wholePayload } from "./text/payload-text.js";
import { isReason, reasonLine, wholeReason } from "./text/reason-text.js";
import { type Cell, type Column, tableLines } from "./text/table.js";
import { clockTime, isoTime, timeAgo } from "./text/time-ago.js";
import { visible } from "./text/visible.js";

export interface Story {
  readonly run: RunRecord;
  /** Its dedupe key; null: none, or it is free again. */
  readonly key: { readonly scope: string; readonly key: string } | null;
  readonly entries: readonly JournalEntry[];
  readonly waits: readonly PendingWait[];
  readonly unread: readonly Message[];
  readonly claims: readonly PastClaim[];
  /** What the store knows about all claims. */
  readonly known: readonly ClaimRecord[];
  /** The tasks of a DAG or a fan-out. */
  readonly tasks: readonly TaskStatus[];
  readonly around: Surroundings;
}

/** A parent may wait for a thousand children. */
const MOST_LINES = 10;
const MOST_TASKS = 50;

export function storyLines(story: Story, call: Call): string[] {
  const { entries, waits, unread, claims, tasks, around } = story;
  const { width, paint, world } = call;
  const now = world.wallNow();
  const holders = new Map(story.known.map(({ epoch, holder }) => [epoch, holder && nameOf(holder)]));
  const holderOf = (epoch: number) => holders.get(epoch) ?? null;
  const payloads = call.values["payloads"] === true;
  return [
    ...withoutHeader(factsOf(story, now), width, call),
    ...section(
      "Tasks",
      tasks.map((task) => taskCells(task, around, now)),
      call,
      Math.max(MOST_TASKS, tasks.filter(({ error }) => error !== null).length),
    ),
    "",
    ...timeline(entries, { width, paint, payloads, holderOf }),
    // A single claim that is held or was released is already visible in the timeline.
    ...section("Claims", claims.length > 1 ? claims.map((claim) => claimCells(claim, clockOf(claims))) : [], call),
    ...section(
      "Waits for",
      waits.map((wait) => waitCells(wait, now)),
      call,
    ),
    ...section(
      "In its inbox, not read yet",
      unread.map((message) => messageCells(message, now)),
      call,
    ),
  ];
}

function factsOf({ run, key, around, known }: Story, now: number): Cell[][] {
  const { group, state, createdAt, endedAt, parentId, baseSeq, generation } = run;
  const where = [
    `queue ${group.queue}`,
    `env ${group.env}`,
    ...(group.stack ? [`stack ${group.stack}`] : []),
    ...(group.version ? [`version ${group.version}`] : []),
  ];
  const activity = isEnded(state) ? "" : doing(run, around, now);
  return [
    ["Run", run.id],
    ["Program", `${group.program} (${where.join(", ")})`],
    ...(key === null ? [] : [["Key", key.key]]),
    ["State", { text: activity === "" ? state : `${state}: ${activity}`, colour: STATE_COLOURS[state] }],
    ["Created", `${timeAgo(createdAt, now)}, ${isoTime(createdAt)}`],
    ...(endedAt === null
      ? []
      : [[state === "quarantined" ? "Since" : "Ended", `${timeAgo(endedAt, now)}, ${isoTime(endedAt)}`]]),
    ...(run.epoch === 0 ? [] : [["Claims", [String(run.epoch), ...troubles(run)].join(", ")]]),
    ...(parentId === null ? [] : [["Parent", parentId]]),
    ...(run.deferred === null ? [] : [["Deferred", deferredText(run, run.deferred, around, now)]]),
    ...recoveredCells(run, known),
    ...(baseSeq > 0 ? [["Generation", `${generation}; entries up to ${baseSeq} belong to earlier ones`]] : []),
  ];
}

function recoveredCells({ recoveries }: RunRecord, known: readonly ClaimRecord[]): Cell[][] {
  const { holder, reclaimed } = known.findLast((claim) => claim.reclaimed !== null) ?? {};
  if (!holder || !reclaimed) return [];
  const times = recoveries === 1 ? "once," : `${recoveries} times, last`;
  return [["Reclaimed", `${times} from ${nameOf(holder)} ${reclaimedText(reclaimed, isoTime)}`]];
}

function deferredText(
  { state }: RunRecord,
  { by, expiresAt, takenBy }: Deferral,
  around: Surroundings,
  now: number,
): string {
  if (takenBy !== null) return `by ${by}, taken by ${around.holder(takenBy)}`;
  if (isEnded(state)) return `by ${by}, not taken`;
  return `by ${by}, not taken yet${expiresAt === null ? "" : `, expires ${timeAgo(expiresAt, now)}`}`;
}

/** With the day, unless all claims are from one day. */
function clockOf(claims: readonly PastClaim[]): (at: number) => string {
  const times = claims.flatMap(({ from, to, reclaimed }) => [from ?? [], to ?? [], reclaimed?.at ?? []].flat());
  const days = new Set(times.map((at) => isoTime(at).slice(0, 10)));
  return (at) => clockTime(at, days.size > 1);
}

function claimCells(
  { epoch, holder, entries, from, to, ended, reclaimed }: PastClaim,
  time: (at: number) => string,
): Cell[] {
  const count = `${entries} ${entries === 1 ? "entry" : "entries"}`;
  const span = from === null || to === null ? "" : `${time(from)} to ${time(to)}`;
  const how = reclaimed === null ? ended : `${ended} ${reclaimedText(reclaimed, time)}`;
  return [String(epoch), holder === null ? "" : nameOf(holder), count, span, how];
}

function waitCells({ kind, name, detail, deadline }: PendingWait, now: number): Cell[] {
  const until = deadline === null ? "" : `until ${isoTime(deadline)}, ${timeAgo(deadline, now)}`;
  return [kind, name, detail ?? "", until];
}

function messageCells({ kind, name, at, sender, payload }: Message, now: number): Cell[] {
  const value = kind === "cancel" ? reasonLine(payload) : payloadLine(payload);
  return [kind, name, timeAgo(at, now), sender ?? "", value];
}

function section(title: string, rows: readonly Cell[][], call: Call, most = MOST_LINES): string[] {
  if (rows.length === 0) return [];
  const lines = withoutHeader(rows.slice(0, most), call.width - 2, call);
  const more = rows.length > most ? [`and ${rows.length - most} more`] : [];
  return ["", title, ...[...lines, ...more].map((line) => `  ${line}`)];
}

function withoutHeader(rows: readonly Cell[][], width: number, { paint }: Call): string[] {
  const columns = rows[0]!.map((_, i) => ({ title: "", flexible: i > 0 }));
  return tableLines({ columns, rows }, width, paint).slice(1);
}

interface TimelineOptions {
  readonly width: number;
  readonly paint: Paint;
  /** Whole values below the entries instead of one line next to them. */
  readonly payloads: boolean;
  /** The holder of the claim with this number, if known. */
  readonly holderOf: (epoch: number) => string | null;
}

const COLUMNS: readonly Column[] = [
  { title: "SEQ", align: "right" },
  { title: "TIME (UTC)" },
  { title: "KIND", flexible: true },
  { title: "NAME", flexible: true },
  { title: "KEY", flexible: true },
  { title: "CLAIM", flexible: true },
];
const VALUE: Column = { title: "VALUE", flexible: true };
const INDENT = "       ";

/** A run's journal as a table: time, entry, claim, value or error. */
function timeline(entries: readonly JournalEntry[], options: TimelineOptions): string[] {
  const { width, paint, payloads } = options;
  const days = new Set(entries.map(({ at }) => Math.floor(at / 86_400_000)));
  const rows = entries.map((entry) => cellsOf(entry, days.size > 1, options));
  const columns = payloads ? COLUMNS : [...COLUMNS, VALUE];
  const [header, ...lines] = tableLines({ columns, rows }, width, paint);
  if (!payloads) return [header!, ...lines];
  return [header!, ...lines.flatMap((line, i) => [line, ...wholeValue(entries[i]!, options)])];
}

function cellsOf(entry: JournalEntry, withDay: boolean, { payloads, holderOf }: TimelineOptions): Cell[] {
  const { seq, at, kind, name, key, epoch, payload } = entry;
  const holder = holderOf(epoch);
  const cells: Cell[] = [
    String(seq),
    clockTime(at, withDay),
    { text: kind, colour: colourOf(kind) },
    name,
    key ?? "",
    epoch === 0 ? "" : holder === null ? String(epoch) : `${epoch} ${holder}`,
  ];
  if (payloads) return cells;
  return [...cells, isReason(kind) ? { text: reasonLine(payload), colour: colourOf(kind) } : payloadLine(payload)];
}

function wholeValue({ kind, payload }: JournalEntry, { paint, width }: TimelineOptions): string[] {
  if (payload === null) return [];
  const lines = (isReason(kind) ? wholeReason : wholePayload)(payload, width - INDENT.length);
  return lines.map((line) => INDENT + paint(visible(line), isReason(kind) ? colourOf(kind) : "dim"));
}

function colourOf(kind: string): Colour | undefined {
  if (kind === "completed") return "green";
  if (kind === "retry" || kind === "step.tried") return "yellow";
  if (kind === "cancelled" || kind === "skipped") return "dim";
  return isReason(kind) ? "red" : undefined;
}
