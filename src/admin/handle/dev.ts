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
  "dev.kill": async (call, { node }) => ({ name: known(supervisorOf(call).kill(node)) }),
  "dev.freeze": async (call, { node }) => ({ seconds: known(supervisorOf(call).freeze(node)) / 1000 }),
  "dev.restart": async (call, { node }) => ({ name: known(supervisorOf(call).restart(node)) }),
};
