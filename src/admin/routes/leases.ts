// Routes of named leases.

import * as z from "zod";
import { env, limit, name, pageOf, route, time } from "../route.js";

export const LEASE_ROUTES = {
  "leases.list": route({
    method: "GET",
    path: "/leases",
    may: ["see"],
    says: "Lists named leases by key, without their tokens.",
    input: z.strictObject({ env, prefix: name.optional(), after: z.string().max(1000).optional(), limit }),
    output: pageOf(
      z.object({
        key: z.string(),
        owner: z.string(),
        epoch: z.number(),
        attempt: z.number(),
        state: z.enum(["claimed", "done", "failed", "expired"]),
        leaseUntil: time,
        acquiredAt: time,
        finishedAt: time.nullable(),
        detail: z.string().nullable(),
      }),
    ),
  }),
};
