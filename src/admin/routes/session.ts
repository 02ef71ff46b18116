// Routes about the caller and the server: who am I, which envs there are, what this server offers.

import * as z from "zod";
import { PERMISSIONS } from "../permission.js";
import { route, time } from "../route.js";

export const SESSION_ROUTES = {
  "session.get": route({
    method: "GET",
    path: "/session",
    may: [],
    says: "Returns who the caller is, what it may do, and what this server offers.",
    input: z.strictObject({}),
    output: z.object({
      id: z.string(),
      name: z.string(),
      may: z.array(z.enum(PERMISSIONS)),
      /** The envs of this server that the caller may see; the first is the default. */
      envs: z.array(z.string()),
      groups: z.array(z.string()).nullable(),
      version: z.string(),
      /** The database's clock. */
      now: time,
      /** False: the page polls. */
      live: z.boolean(),
      /** Only with a supervisor: nodes can be killed and frozen here. */
      dev: z.boolean(),
    }),
  }),
};
