// Handlers of a development server.

import type * as z from "zod";
import type { Call } from "../call.js";
import { ApiProblem } from "../problem.js";
import type { DEV_ROUTES, DevRouteName } from "../routes/dev.js";
import type { Supervisor } from "../supervisor.js";

type Table = typeof DEV_ROUTES;
type DevHandlers = {
  readonly [Name in DevRouteName]: (
    call: Call,
    input: z.output<Table[Name]["input"]>,
  ) => Promise<z.input<Table[Name]["output"]>>;
};

function supervisorOf({ admin }: Call): Supervisor {
  if (admin.supervisor) return admin.supervisor;
  throw new ApiProblem(404, "NOT_FOUND", "There is no such route.");
}

function known<Answer>(answer: Answer | null): Answer {
  if (answer !== null) return answer;
  throw new ApiProblem(409, "NODE_NOT_HERE", "This server runs no such process now. Nothing was changed.");
}

export const devHandlers: DevHandlers = {
  "dev.get": async (call) => {
    const { app, problem, nodes } = supervisorOf(call).state();
    return { app, problem, nodes: [...nodes] };
  },
  "dev.kill": (call, { node }) => harm(call, "dev.kill", node, async (of) => ({ name: known(of.kill(node)) })),
  "dev.freeze": (call, { node }) =>
    harm(call, "dev.freeze", node, async (of) => ({ seconds: known(of.freeze(node)) / 1000 })),
  "dev.restart": (call, { node }) => harm(call, "dev.restart", node, async (of) => ({ name: known(of.restart(node)) })),
};

/** Nothing of it is a statement: the audit row follows at once. A refused one leaves none. */
function harm<Answer>(
  call: Call,
  action: DevRouteName,
  node: string,
  work: (supervisor: Supervisor) => Promise<Answer>,
): Promise<Answer> {
  const supervisor = supervisorOf(call);
  const of = supervisor.state().nodes.find(({ incarnation }) => incarnation === node);
  const before = of && { name: of.name, state: of.state };
  return call.change({ action, object: node, before }, () => work(supervisor));
}
