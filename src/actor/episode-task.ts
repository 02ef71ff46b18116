// A DAG task that runs an episode: an expectation, its needs, and what happens when the episode fails.

import { type AnyTask, type Task, type TaskOptions, type TasksByName, task, type Values } from "../dag/task.js";
import type { TaskContext } from "../dag/task-context.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import { textsField } from "../kernel/fields.js";
import { attemptsLeft, type RetryRule, retryDelayMs, retryPolicy, spread } from "../kernel/run/retry.js";
import type { Definition } from "../program/definition.js";

/** `abort`: the task fails. `pause`: it asks a person whether another episode should try. */
export type OnEpisodeFailure = "abort" | "pause" | EpisodeRetry;

/** How often another episode is tried, and after which errors none is. */
export interface EpisodeRetry extends RetryRule {
  /** Codes or names of errors that are not worth another episode. */
  readonly notAfter?: readonly string[];
}

/** Options of `episode()`. */
export interface EpisodeTaskOptions<N extends TasksByName, DagIn, In> extends Pick<TaskOptions, "queue"> {
  /** Tasks whose results the episode's input is built from. */
  readonly needs?: N;
  /** Builds the episode's input from the results of the needs and the DAG's input. */
  readonly input: (needs: Values<N>, input: DagIn) => In;
  /** Each further attempt is an episode of its own. @default abort */
  readonly onFailure?: OnEpisodeFailure;
}

/** An episode of a DAG failed, and its policy allows no further one. `cause` is the last one's error. */
export class EpisodeFailed extends HoldfastError {
  readonly code = "EPISODE_FAILED";

  constructor(program: string, tries: number, cause: unknown) {
    const message = cause instanceof Error ? cause.message : String(cause);
    super(`${program} failed after ${tries} ${tries === 1 ? "episode" : "episodes"}: ${message}`, { cause });
  }
}

/** The name of the approval that a paused task asks for. */
const RESUME = "resume";

/** Defines a task of a DAG that runs an episode: an expectation of an actor, with input from the tasks it needs. */
// biome-ignore lint/complexity/noBannedTypes: without needs there are none
export function episode<In, Out, Parsed, N extends TasksByName = {}, DagIn = unknown>(
  expectation: Definition<string, In, Out, Parsed>,
  { needs, input, onFailure = "abort", ...options }: EpisodeTaskOptions<N, DagIn, In>,
): Task<Out, DagIn, keyof N & string, false> {
  if (onFailure !== "abort" && onFailure !== "pause" && (typeof onFailure !== "object" || onFailure === null))
    throw new InvalidInput("onFailure", 'must be "abort", "pause" or an object like { attempts: 3, delay: "5s" }');
  const policy = typeof onFailure === "object" ? policyOf(onFailure) : null;
  const run = (ctx: TaskContext, given: unknown) =>
    tryEpisodes(ctx, expectation, input((needs ? given : {}) as Values<N>, ctx.input as DagIn), {
      pauses: onFailure === "pause",
      policy,
    });
  const rules = { ...options, retry: 1, ...(needs && { needs }) };
  return (task as (...args: unknown[]) => AnyTask)(rules, run);
}

type Policy = ReturnType<typeof policyOf>;

function policyOf({ notAfter = [], ...retry }: EpisodeRetry) {
  textsField("onFailure.notAfter", notAfter, "codes or names of errors");
  return { retry: retryPolicy({ delay: "5s", ...retry }, "onFailure"), notAfter };
}

/** Durable: every episode is a child run, every pause between two of them a recorded wait. */
async function tryEpisodes<In, Out, Parsed>(
  ctx: TaskContext,
  expectation: Definition<string, In, Out, Parsed>,
  input: In,
  { pauses, policy }: { readonly pauses: boolean; readonly policy: Policy | null },
): Promise<Out> {
  for (let tries = 1; ; tries++) {
    try {
      return await ctx.child(expectation, input);
    } catch (error) {
      if (pauses && (await isResumed(ctx, expectation.name, error))) continue;
      const worth =
        policy && attemptsLeft(policy.retry, tries) > 0 && !policy.notAfter.some((one) => isClass(error, one));
      if (!worth) throw new EpisodeFailed(expectation.name, tries, error);
      await ctx.sleep(
        "another episode",
        retryDelayMs(policy.retry, tries, () => spread(`${ctx.idempotencyKey}:${tries}`)),
      );
    }
  }
}

async function isResumed(ctx: TaskContext, program: string, error: unknown): Promise<boolean> {
  const why = error instanceof Error ? error.message : String(error);
  const answer = await ctx.approval(RESUME, { ask: `${program} failed: ${why}`, choices: ["resume", "abort"] });
  return answer.outcome === "resume";
}

/** A skipped or cancelled episode says so in the details. */
function isClass(error: unknown, wanted: string): boolean {
  const { code, name, details } = (error ?? {}) as { code?: unknown; name?: unknown; details?: { code?: unknown } };
  return code === wanted || name === wanted || details?.code === wanted;
}
