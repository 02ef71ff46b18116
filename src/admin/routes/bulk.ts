// Routes of bulk actions: a preview with a digest, then steps that carry it. What was shown is what is done.

import * as z from "zod";
import { counted, note, outcome, route } from "../route.js";
import { runFilter, runRow } from "./runs.js";

export const BULK_ACTIONS = ["cancel", "pause", "resume", "retry", "retry from start"] as const;

const bulkFilter = z.strictObject({
  ...runFilter,
  /** Only dead letters with this error code; empty: those without one. */
  code: z.string().max(300).optional(),
});

export const BULK_ROUTES = {
  "bulk.preview": route({
    method: "POST",
    path: "/bulk/preview",
    may: ["operate"],
    says: "Counts the runs that an action would change, with examples and the digest of the request.",
    input: z.strictObject({ action: z.enum(BULK_ACTIONS), filter: bulkFilter }),
    output: z.object({ count: counted, examples: z.array(runRow), digest: z.string() }),
  }),
  "bulk.step": route({
    method: "POST",
    path: "/bulk/step",
    may: ["operate"],
    says: "Applies the action to the next 100 runs. Repeating a step is safe.",
    input: z.strictObject({
      action: z.enum(BULK_ACTIONS),
      filter: bulkFilter,
      digest: z.string().max(200),
      /** The `next` of the previous step. */
      before: z.string().max(100).optional(),
      note,
    }),
    output: z.object({
      answers: z.array(outcome.extend({ id: z.string() })),
      next: z.string().nullable(),
    }),
  }),
};
