// A batch of commits as parameters of the fenced commit.

import {
  type ContinueEffect,
  type Effect,
  type EffectEntry,
  type EnqueueEffect,
  entryOf,
  settles,
  type TakeEffect,
} from "../../../kernel/run/effect.js";
import type { Commit } from "../../contract/run/runs.js";
import { bigint, bool, type Columns, float8, int, rowset, text, uuid } from "../connection/rowset.js";
import { limitColumns } from "../limit/limit-columns.js";
import type { Groups } from "../run/groups.js";
import { type PlacedRun, RUN } from "../run/insert-runs.js";
import { LIMITED } from "../run/limited-runs.js";
import { changeOf, type RowChange } from "./encode-effect.js";

interface FencedCommit {
  readonly commit: Commit;
  /** The change to the run's row when the last effect releases the claim. */
  readonly change: RowChange | null;
}

/** The fence, and how many entries it covers. */
const CLAIM = {
  run_id: uuid(({ commit }) => commit.claim.runId),
  epoch: bigint(({ commit }) => commit.claim.epoch),
  token: uuid(({ commit }) => commit.claim.token),
  seq: bigint(({ commit }) => commit.expectedSeq),
  n: int(({ commit }) => commit.effects.length),
} satisfies Columns<{ readonly commit: Commit }>;

const FENCE = {
  ...CLAIM,
  to_state: text(({ change }) => change?.state ?? null),
  ends: bool(({ change }) => change?.ends ?? false),
  failed: bool(({ change }) => change?.failed ?? false),
  continues: bool(({ change }) => change?.continues ?? false),
  delay_ms: float8(({ change }) => change?.delayMs ?? null),
  wake_after: int(({ change }) => change?.wakeAfter ?? 1),
  seen_inbox_seq: bigint(({ change }) => change?.seenInboxSeq ?? null),
} satisfies Columns<FencedCommit>;

export const CLAIMS = rowset<{ readonly commit: Commit }>()(CLAIM);
export const FENCES = rowset<FencedCommit>({ folds: true })(FENCE);
/** Of commits of which one needs more than its run's own row and journal. */
export const FENCES_AND_MORE = rowset<FencedCommit>({ folds: true })({
  ...FENCE,
  /** The holder's build, when its code does not fit the journal. */
  build: text(({ commit }) => buildOfMisfit(commit.effects.at(-1)!)),
  new_tasks: int(({ commit }) => commit.effects.filter((effect) => effect.kind === "enqueue" && effect.task).length),
  asks: bool(({ commit }) => commit.effects.some(isQuestion)),
  for_tasks: bool(({ commit }) => commit.effects.some((effect) => effect.kind === "park" && effect.forTasks)),
});

/** `ord` is the place of the commit in its batch, `i` that of the effect in its commit, both counted from 1. */
interface Placed<E> {
  readonly ord: number;
  readonly i: number;
  readonly effect: E;
}

interface PlacedEntry {
  readonly ord: number;
  readonly i: number;
  readonly entry: EffectEntry;
}

/** The run joins those that may wait for an approval. */
export const isQuestion = (effect: Effect) => effect.kind === "append" && effect.entry.kind === "approval.begun";

/** One row per journal entry; the entry of a taken message is written by the statement itself, from the inbox. */
export const ENTRIES = rowset<PlacedEntry>({ folds: true })({
  ord: int(({ ord }) => ord),
  i: int(({ i }) => i),
  kind: text(({ entry }) => entry.kind),
  name: text(({ entry }) => entry.name),
  key: text(({ entry }) => entry.key),
  codec: text(({ entry }) => entry.payload?.codec ?? null),
  data: text(({ entry }) => entry.payload?.data ?? null),
});

/** One row per effect that depends on another row: the message to be taken in, or the id that a child is to get. */
export const NEEDS = rowset<Placed<TakeEffect | EnqueueEffect>>()({
  ord: int(({ ord }) => ord),
  i: int(({ i }) => i),
  key: text(({ effect }) => (effect.kind === "take" ? effect.messageKey : null)),
  message: uuid(({ effect }) => (effect.kind === "take" ? (effect.messageId ?? null) : null)),
  child: uuid(({ effect }) => (effect.kind === "enqueue" ? effect.run.id : null)),
  counts: bool(({ effect }) => effect.kind === "enqueue" && effect.task !== undefined),
});

interface Child extends PlacedRun {
  readonly ord: number;
  readonly parentId: string;
  readonly task: EnqueueEffect["task"];
}

/** `position` counts the children of one commit from 0: they become claimable one microsecond apart, in the order of the effects. */
export const CHILDREN = rowset<Child>()({
  ...RUN,
  ...LIMITED,
  ord: int(({ ord }) => ord),
  parent_id: uuid(({ parentId }) => parentId),
  pending: int(({ task }) => task?.needs.length ?? 0),
  counts: bool(({ task }) => task !== undefined),
});

interface ReopenedMessage {
  readonly ord: number;
  readonly key: string;
}

/** One row per message that is unread again. */
export const REOPENED = rowset<ReopenedMessage>()({
  ord: int(({ ord }) => ord),
  key: text(({ key }) => key),
});

interface TaskNeed {
  readonly ord: number;
  readonly needId: string;
  readonly runId: string;
}

/** One row per need of a task that is started. */
export const TASK_NEEDS = rowset<TaskNeed>()({
  ord: int(({ ord }) => ord),
  need_id: uuid(({ needId }) => needId),
  run_id: uuid(({ runId }) => runId),
});

/** The parameters of commits that write their runs' own rows and journals only. */
export function commitColumns(commits: readonly Commit[]): unknown[] {
  return [...FENCES.arrays(fencesOf(commits)), ...ENTRIES.arrays(entriesOf(commits))];
}

/** The parameters of commits that may take messages, start children, continue as a new generation or wait for tasks. */
export async function commitAndMoreColumns(groups: Groups, commits: readonly Commit[]): Promise<unknown[]> {
  const started = effectsOf<EnqueueEffect>(commits, ["enqueue"]);
  const children = await childrenOf(groups, commits, started);
  const continued = effectsOf<ContinueEffect>(commits, ["continue"]);
  return [
    ...FENCES_AND_MORE.arrays(fencesOf(commits)),
    ...ENTRIES.arrays(entriesOf(commits)),
    ...NEEDS.arrays(needsOf(commits)),
    ...CHILDREN.arrays(children),
    ...limitColumns(children.map(({ run }) => run)),
    ...REOPENED.arrays(continued.flatMap(({ ord, effect }) => effect.reopen.map((key) => ({ ord, key })))),
    ...TASK_NEEDS.arrays(
      started.flatMap(({ ord, effect }) =>
        (effect.task?.needs ?? []).map((needId) => ({ ord, needId, runId: effect.run.id })),
      ),
    ),
  ];
}

/** The parameters of the query that finds why these commits were refused. */
export function refusedColumns(commits: readonly Commit[]): unknown[] {
  return [
    ...CLAIMS.arrays(commits.map((commit) => ({ commit }))),
    ...NEEDS.arrays(needsOf(commits)),
    ...ENTRIES.arrays(entriesOf(commits)),
  ];
}

function fencesOf(commits: readonly Commit[]): FencedCommit[] {
  return commits.map((commit) => {
    const last = commit.effects.at(-1)!;
    return { commit, change: settles(last) ? changeOf(last) : null };
  });
}

function buildOfMisfit(last: Effect): string | null {
  return last.kind === "misfit" ? last.build : null;
}

function entriesOf(commits: readonly Commit[]): PlacedEntry[] {
  const entries: PlacedEntry[] = [];
  commits.forEach(({ effects }, c) => {
    effects.forEach((effect, i) => {
      if (effect.kind !== "take") entries.push({ ord: c + 1, i: i + 1, entry: entryOf(effect) });
    });
  });
  return entries;
}

function needsOf(commits: readonly Commit[]): Placed<TakeEffect | EnqueueEffect>[] {
  return effectsOf<TakeEffect | EnqueueEffect>(commits, ["take", "enqueue"]);
}

async function childrenOf(
  groups: Groups,
  commits: readonly Commit[],
  started: readonly Placed<EnqueueEffect>[],
): Promise<Child[]> {
  const ids = await groups.ids(started.map(({ effect }) => effect.run.group));
  const before = new Map<number, number>();
  return started.map(({ ord, effect: { run, task } }, i) => {
    const position = before.get(ord) ?? 0;
    before.set(ord, position + 1);
    return { ord, run, group: ids[i]!, position, parentId: commits[ord - 1]!.claim.runId, task };
  });
}

function effectsOf<E extends Effect>(commits: readonly Commit[], kinds: readonly Effect["kind"][]): Placed<E>[] {
  return commits.flatMap(({ effects }, c) =>
    effects.flatMap((effect, i) =>
      kinds.includes(effect.kind) ? [{ ord: c + 1, i: i + 1, effect: effect as E }] : [],
    ),
  );
}
