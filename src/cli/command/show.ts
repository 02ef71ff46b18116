// `holdfast show`: one run with its tasks, its timeline, its waits, and its unread messages.

import { codecs } from "../../kernel/codec/codecs.js";
import { isEnded } from "../../kernel/run/run-state.js";
import { redact } from "../../machine/redact.js";
import type { JournalEntry } from "../../store/contract/journal/journal.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { findRun } from "../find-run.js";
import { WATCH_OPTION } from "../options.js";
import { pendingWaits } from "../pending-waits.js";
import { claimJson, claimsOf } from "../run-claims.js";
import { runJson } from "../run-json.js";
import { needsNodes, surroundings } from "../run-situation.js";
import { type Story, storyLines } from "../run-story.js";
import { taskJson, tasksOf } from "../run-tasks.js";
import { decode, payloadJson } from "../text/payload-text.js";
import { isoTime } from "../text/time-ago.js";

const OPTIONS = {
  payloads: { type: "boolean", description: "print whole values and errors below each entry" },
  watch: WATCH_OPTION,
} as const satisfies Options;

export const show = defineCommand({
  name: "show",
  takes: ["RUN"],
  summary: "the timeline of a run: steps, attempts, waits, claims, tasks",
  details:
    "RUN is an id, or at least its first 8 characters. CLAIM is the number of the claim under which an entry was written;\n" +
    "entries written by the store itself have none.",
  options: OPTIONS,
  run: showRun,
});

/** The most claims for which the holders are read. */
const MOST_CLAIMS = 1000;
const CODECS = codecs();

async function showRun(call: Call<typeof OPTIONS>): Promise<Report> {
  const store = await call.store();
  const run = await findRun(call, call.arguments[0]!);
  const [page, key, known, unread] = await Promise.all([
    store.journal.read(run.id),
    store.runs.keyOf(run.id),
    store.runs.claims(run.id, { limit: MOST_CLAIMS }),
    isEnded(run.state) ? [] : store.inbox.unread(run.id),
  ]);
  const entries = withoutMarked(run.group.program, page?.entries ?? []);
  const tasks = await tasksOf(store, entries);
  const asked = needsNodes(run) || tasks.some((task) => needsNodes(task.run));
  const nodes = asked ? await store.nodes.list({ env: run.group.env }) : [];
  const waits = isEnded(run.state) ? [] : pendingWaits(entries);
  const claims = claimsOf(entries, run, known);
  const story = { run, key, entries, waits, unread, tasks, claims, known, around: surroundings(nodes) };
  return { text: `${storyLines(story, call).join("\n")}\n`, json: storyJson(story) };
}

function storyJson({
  run,
  key,
  entries,
  waits,
  unread,
  tasks,
  claims,
  around,
}: Story): Readonly<Record<string, unknown>> {
  return {
    run: {
      ...runJson(run),
      key: key?.key ?? null,
      holder: run.owner === null ? null : around.holder(run.owner),
      noCapableNode: around.lacksNode(run),
    },
    claims: claims.map(claimJson),
    tasks: tasks.map(taskJson),
    journal: entries.map(readable),
    waits: waits.map(({ deadline, ...wait }) => ({ ...wait, deadline: isoTime(deadline) })),
    unread: unread.map(readable),
  };
}

function readable<T extends Pick<Story["entries"][number], "at" | "payload">>({ at, payload, ...rest }: T) {
  return { ...rest, at: isoTime(at), payload: payloadJson(payload) };
}

/** The entries of an effect's run without the fields that the machine marked; entries of any other run unchanged. */
function withoutMarked(program: string, entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const paths = program.endsWith("::effects") ? markedIn(entries[0]) : [];
  if (paths.length === 0) return entries;
  return entries.map((entry, i) => {
    if (entry.payload === null) return entry;
    const decoded = decode(entry.payload);
    if ("unreadable" in decoded) return entry;
    const shown = i === 0 ? aboutWithout(decoded.value as About, paths) : redact(decoded.value, "event", paths);
    return { ...entry, payload: CODECS.encode(shown, "shown") };
  });
}

type About = Readonly<Record<"context" | "event" | "params" | "redact", unknown>>;

function aboutWithout({ redact: _, ...about }: About, paths: readonly string[]): unknown {
  const { context, event, params } = about;
  return {
    ...about,
    context: redact(context, "context", paths),
    event: redact(event, "event", paths),
    params: redact(params, "params", paths),
  };
}

function markedIn(start: JournalEntry | undefined): readonly string[] {
  const decoded = start?.payload ? decode(start.payload) : null;
  const value = decoded && "value" in decoded ? (decoded.value as { readonly redact?: unknown } | null) : null;
  return Array.isArray(value?.redact) ? (value.redact as string[]) : [];
}
