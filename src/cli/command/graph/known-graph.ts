// A graph known by its name: where its runs wait, and the limits that its nodes declared.

import { Runs } from "../../../client/runs.js";
import { programName, queueName } from "../../../kernel/name.js";
import type { Startable } from "../../../program/startable.js";
import { clientPlace } from "../../client-place.js";
import type { Call } from "../../command.js";
import { CommandMisused } from "../../error.js";

export async function knownGraph(call: Call, program: string, queue: string | undefined): Promise<Startable> {
  const name = programName(program, "PROGRAM");
  await expectGraph(call, name);
  const known = { name, queue: queueName(queue ?? name, "--queue"), version: null };
  return { ...known, schema: null, limits: await new Runs(await clientPlace(call)).limitsOf(known) };
}

/** A workflow would take a thread or breakpoints for a part of its input: what a node has reported as one is refused. */
export async function expectGraph(call: Call, program: string): Promise<void> {
  const programs = await (await call.store()).nodes.programs(call.env);
  const { kind } = programs.find(({ name }) => name === program) ?? { kind: "graph" };
  if (kind !== "graph") throw new CommandMisused(`${program} is a ${kind}, not a graph`);
}
