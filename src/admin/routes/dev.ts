// Routes of a development server: they exist only where the server supervises the nodes itself, and not in the table for clients.

import * as z from "zod";
import { name, route } from "../route.js";

const input = z.strictObject({ node: name });

export const DEV_ROUTES = {
  "dev.get": route({
    method: "GET",
    path: "/dev",
    may: ["see"],
    says: "Returns the app, its problem, and the processes.",
    input: z.strictObject({}),
    output: z.object({
      app: z.string(),
      problem: z.object({ message: z.string(), frame: z.string() }).nullable(),
      nodes: z.array(
        z.object({
          name: z.string(),
          incarnation: z.string().nullable(),
          state: z.enum(["starting", "up", "frozen", "stopping", "down"]),
        }),
      ),
    }),
  }),
  "dev.kill": route({
    method: "POST",
    path: "/dev/nodes/:node/kill",
    may: ["operate"],
    says: "Kills a process with SIGKILL.",
    input,
    output: z.object({ name: z.string() }),
  }),
  "dev.freeze": route({
    method: "POST",
    path: "/dev/nodes/:node/freeze",
    may: ["operate"],
    says: "Freezes a process with SIGSTOP, for longer than its lease.",
    input,
    output: z.object({ seconds: z.number() }),
  }),
  "dev.restart": route({
    method: "POST",
    path: "/dev/nodes/:node/restart",
    may: ["operate"],
    says: "Stops a process in order and starts another one under its name.",
    input,
    output: z.object({ name: z.string() }),
  }),
};

export type DevRouteName = keyof typeof DEV_ROUTES;
