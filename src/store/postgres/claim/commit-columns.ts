// A batch of commits as the arrays that the statements unnest.

import {
  type ContinueEffect,
  type Effect,
  type EnqueueEffect,
  entryOf,
  settles,
  type TakeEffect,
} from "../../../kernel/run/effect.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import type { Commit } from "../../contract/run/runs.js";
import { isLimited, limitColumns } from "../limit/limit-columns.js";
import type { Groups } from "../run/groups.js";
import { columnsOf, type Places } from "../run/insert-runs.js";
import { changeOf } from "./encode-effect.js";

/** One row per commit: the fence, and what happens to the run's row. */
export function fenceColumns(commits: readonly Commit[]): unknown[][] {
  const changes = commits.map(({ effects }) => {
    const last = effects.at(-1)!;
    return settles(last) ? changeOf(last) : null;
  });
  return [
    commits.map((c) => c.claim.runId),
    commits.map((c) => c.claim.epoch),
    commits.map((c) => c.claim.token),
    commits.map((c) => c.expectedSeq),
    commits.map((c) => c.effects.length),
    changes.map((c) => c?.state ?? null),
    changes.map((c) => c?.ends ?? false),
    changes.map((c) => c?.failed ?? false),
    changes.map((c) => c?.anew ?? false),
    changes.map((c) => c?.delayMs ?? null),
    changes.map((c) => c?.wakeAfter ?? 1),
    changes.map((c) => c?.seenInboxSeq ?? null),
  ];
}

/** One row per journal entry; a message's entry is written by the statement itself, from the inbox. */
export function entryColumns(commits: readonly Commit[]): unknown[][] {
  const columns: unknown[][] = [[], [], [], [], [], [], []];
  commits.forEach(({ effects }, c) => {
    effects.forEach((effect, i) => {
      if (effect.kind === "take") return;
      const { kind, name, key, payload } = entryOf(effect);
      const row = [c + 1, i + 1, kind, name, key, payload?.codec ?? null, payload?.data ?? null];
      for (let k = 0; k < row.length; k++) columns[k]!.push(row[k]);
    });
  });
  return columns;
}

/** One row per effect that depends on another row: the message to be taken in, or the id that a child is to get. */
export function takeColumns(commits: readonly Commit[]): unknown[][] {
  const needs = effectsOf<TakeEffect | EnqueueEffect>(commits, ["take", "enqueue"]);
  return [
    needs.map((need) => need.ord),
    needs.map((need) => need.i),
    needs.map(({ effect }) => (effect.kind === "take" ? effect.messageKey : null)),
    needs.map(({ effect }) => (effect.kind === "take" ? (effect.messageId ?? null) : null)),
    needs.map(({ effect }) => (effect.kind === "enqueue" ? effect.run.id : null)),
    needs.map(({ effect }) => effect.kind === "enqueue" && effect.task !== undefined),
  ];
}

/** Children of one commit stand one microsecond apart, in the order of the effects. */
export async function childColumns(groups: Groups, commits: readonly Commit[]): Promise<unknown[][]> {
  const children = effectsOf<EnqueueEffect>(commits, ["enqueue"]);
  const runs: NewRun[] = children.map((child) => child.effect.run);
  const ids = await groups.ids(runs.map((run) => run.group));
  const firstOf = new Map(children.toReversed().map(({ ord }, i) => [ord, children.length - 1 - i]));
  const position = children.map(({ ord }, i) => i - firstOf.get(ord)!);
  const placeOf: Places = new Map(runs.map((run, i) => [run, { group: ids[i]!, position: 0 }]));
  const [id, group, priority, delay, crashLimit, , name, codec, data] = columnsOf(runs, placeOf);
  const ord = children.map((child) => child.ord);
  const limited = runs.map(isLimited);
  return [
    ord,
    id!,
    group!,
    priority!,
    delay!,
    crashLimit!,
    name!,
    codec!,
    data!,
    position,
    limited,
    children.map(({ effect }) => effect.task?.needs.length ?? 0),
    children.map(({ effect }) => effect.task !== undefined),
    runs.map(({ recovery }) => recovery ?? null),
    ...limitColumns(runs),
  ];
}

/** Per commit: the tasks it starts, and whether it parks for them. Then one row per need of a task. */
export function taskColumns(commits: readonly Commit[]): unknown[][] {
  const needs = effectsOf<EnqueueEffect>(commits, ["enqueue"]).flatMap(({ ord, effect }) =>
    (effect.task?.needs ?? []).map((needId) => ({ ord, needId, runId: effect.run.id })),
  );
  return [
    commits.map(({ effects }) => effects.filter((effect) => effect.kind === "enqueue" && effect.task).length),
    commits.map(({ effects }) => (effects.some((effect) => effect.kind === "park" && effect.forTasks) ? 1 : 0)),
    needs.map(({ ord }) => ord),
    needs.map(({ needId }) => needId),
    needs.map(({ runId }) => runId),
  ];
}

/** Per commit: the build whose code does not fit, or null. */
export function misfitColumn(commits: readonly Commit[]): unknown[] {
  return commits.map(({ effects }) => {
    const last = effects.at(-1)!;
    return last.kind === "misfit" ? last.build : null;
  });
}

/** One row per message that is unread again. */
export function reopenColumns(commits: readonly Commit[]): unknown[][] {
  const reopened = effectsOf<ContinueEffect>(commits, ["continue"]).flatMap(({ ord, effect }) =>
    effect.reopen.map((key) => ({ ord, key })),
  );
  return [reopened.map(({ ord }) => ord), reopened.map(({ key }) => key)];
}

function effectsOf<E extends Effect>(commits: readonly Commit[], kinds: readonly Effect["kind"][]) {
  return commits.flatMap(({ effects }, c) =>
    effects.flatMap((effect, i) =>
      kinds.includes(effect.kind) ? [{ ord: c + 1, i: i + 1, effect: effect as E }] : [],
    ),
  );
}
