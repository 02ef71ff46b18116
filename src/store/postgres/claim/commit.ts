// Commits effects under a fence, many runs in one statement, each accepted or refused alone.

import { InvalidInput } from "../../../kernel/error.js";
import { type Effect, ends, writesElsewhere } from "../../../kernel/run/effect.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Commit, CommitAnswer } from "../../contract/run/runs.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { wakeBehind } from "../connection/wake-sender.js";
import { wakeRuns } from "../inbox/wake-runs.js";
import { admitAfter } from "../limit/admit-runs.js";
import type { Groups } from "../run/groups.js";
import { commitAndMoreColumns, commitColumns, refusedColumns } from "./commit-columns.js";
import { commitRuns, commitRunsAndMore, commitTasks, commitTasksAndMore, refusedCommits } from "./commit-sql.js";

interface Row {
  ord: number | null;
  seq: string;
  inbox_seq: string;
  /** The group in which other nodes may claim it now, or when it is due. */
  ready: number | null;
  notified: string | null;
  /** A task that is ready but for its limits. */
  held: string | null;
}

interface RefusedRow {
  reason: "recorded" | "held" | "lost";
  seq: string | null;
  bad_takes: number[];
}

/** Whether a task ends with it, as far as its claim says. */
function endsTask({ claim, effects }: Commit): boolean {
  return claim.counts === true && ends(effects.at(-1)!);
}

/**
 * What was busy is sent once more at once: the end of a task whose claim did not say that it is one, or a run whose own tasks
 * ended in the same batch.
 */
export async function commit(
  db: Database,
  groups: Groups,
  commits: readonly Commit[],
): Promise<readonly CommitAnswer[]> {
  const answers = await sendOnce(db, groups, commits, commits.some(endsTask));
  const busy = commits.filter((_, i) => answers[i]!.outcome === "busy");
  if (busy.length === 0) return answers;
  const again = await sendOnce(
    db,
    groups,
    busy,
    busy.some(({ effects }) => ends(effects.at(-1)!)),
  );
  return commits.map((commit, i) => again[busy.indexOf(commit)] ?? answers[i]!);
}

const STATEMENTS = { plain: [commitRuns, commitRunsAndMore], counting: [commitTasks, commitTasksAndMore] } as const;

async function sendOnce(
  db: Database,
  groups: Groups,
  commits: readonly Commit[],
  counting: boolean,
): Promise<readonly CommitAnswer[]> {
  const more = commits.some((c) => c.effects.some(writesElsewhere));
  const values = more ? () => commitAndMoreColumns(groups, commits) : async () => commitColumns(commits);
  const behind = more || counting ? wakeBehind(db) : null;
  const rows = await db.run<Row>(STATEMENTS[counting ? "counting" : "plain"][more ? 1 : 0], values, { behind });

  const answers = new Map<Commit, CommitAnswer>();
  const parents: string[] = [];
  for (const row of rows) {
    if (row.notified !== null) parents.push(row.notified);
    if (row.ord !== null) {
      const accepted = { outcome: "accepted", seq: Number(row.seq), inboxSeq: Number(row.inbox_seq) } as const;
      answers.set(commits[row.ord - 1]!, accepted);
    }
  }
  if (parents.length > 0) await wakeRuns(db, parents);
  await admitAfter(
    db,
    rows.flatMap(({ held }) => held ?? []),
  );
  if (!behind) {
    const children = more ? await groups.ids(childrenOf(commits.filter((commit) => answers.has(commit)))) : [];
    db.onWork([...rows.flatMap(({ ready }) => ready ?? []), ...children]);
  }
  const refused = commits.filter((commit) => !answers.has(commit));
  if (refused.length > 0) {
    const reasons = await whyRefused(db, refused);
    refused.forEach((commit, i) => {
      answers.set(commit, reasons[i]!);
    });
  }
  return commits.map((commit) => answers.get(commit)!);
}

/** Where the children of these commits wait. */
function childrenOf(commits: readonly Commit[]): RunGroup[] {
  return commits.flatMap(({ effects }) =>
    effects.flatMap((effect) => (effect.kind === "enqueue" && !effect.task?.needs.length ? effect.run.group : [])),
  );
}

/** One commit of entries only, in a transaction that commits or rolls back with its answer. */
export async function sendIn(db: Database, commit: Commit, tx: Transaction): Promise<CommitAnswer> {
  const [row] = await db.run<Row>(commitRuns, commitColumns([commit]), { tx });
  if (row) return { outcome: "accepted", seq: Number(row.seq), inboxSeq: Number(row.inbox_seq) };
  return (await whyRefused(db, [commit], tx))[0]!;
}

export async function whyRefused(
  db: Database,
  commits: readonly Commit[],
  tx?: Transaction,
): Promise<readonly CommitAnswer[]> {
  const rows = await db.run<RefusedRow>(refusedCommits, refusedColumns(commits), { tx });
  return commits.map((commit, i): CommitAnswer => {
    const { reason, seq, bad_takes } = rows[i]!;
    if (reason === "recorded") return { outcome: "recorded", seq: commit.expectedSeq + commit.effects.length };
    if (reason === "lost") return { outcome: "lost" };
    if (Number(seq) !== commit.expectedSeq) return { outcome: "moved", seq: Number(seq) };
    if (bad_takes.length === 0) return { outcome: "busy" };
    const bad = bad_takes[0]! - 1;
    return { outcome: "refused", error: problemOfNeed(`effects[${bad}]`, commit.effects[bad]!) };
  });
}

/** The message is not there or was taken, or the child's id is another run's. */
function problemOfNeed(path: string, effect: Effect): InvalidInput {
  return effect.kind === "enqueue"
    ? new InvalidInput(`${path}.run.id`, "belongs to another run; draw a new id for a child")
    : new InvalidInput(`${path}.messageKey`, "no unread message has this key in the run's inbox");
}
