// Puts tracing around the work on each claim, and around each call of user code.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import { errorClass } from "../kernel/codec/recorded-error.js";
import { traceOf } from "../kernel/codec/trace-context.js";
import type { World } from "../kernel/world.js";
import type { Tracing } from "../telemetry/tracing.js";
import type { Around } from "./work-guard.js";

/** What is done around the work on each claim: tracing, the guard, both or nothing. */
export function aroundClaims(
  guard: Around | undefined,
  tracing: Tracing | undefined,
  env: string,
): { around?: Around } {
  const around = tracing ? tracedClaims(tracing, env, guard) : guard;
  return around ? { around } : {};
}

/** The innermost is the guard: a wait for a work claim is part of the claim's span. */
function tracedClaims(tracing: Tracing, env: string, guard: Around | undefined): Around {
  return (program: Program, session: Session, work: () => Promise<void>) => {
    const { runId, epoch, failures, generation, claimedAt, input } = session.run;
    const facts = { runId, epoch, attempt: failures + 1, generation, claimedAt, env, context: traceOf(input) };
    const { name, queue, kind } = program;
    return tracing.claim({ ...facts, program: name, queue, kind }, async () => {
      await (guard ? guard(program, session, work) : work());
      return { as: session.settledAs, error: errorClass(session.failedWith) };
    });
  };
}

/** The same world, in which calls of user code are traced. */
export function tracedWorld(world: World, tracing: Tracing): World {
  const perform: NonNullable<World["perform"]> = (call, work) =>
    tracing.step(call, () => (world.perform ? world.perform(call, work) : work()));
  return Object.create(world, { perform: { value: perform } }) as World;
}
