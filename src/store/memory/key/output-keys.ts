// Keys of outputs: dedupe keys in a scope of their own, reserved for a time by one call of a run.

import { OUTPUT_SCOPE, type OutputAnswer, type OutputCall } from "../../contract/run/outputs.js";
import { toUs } from "../table/micros.js";
import { joinKey } from "../table/names.js";
import type { Tables } from "../table/tables.js";

export function takeOutput(tables: Tables, { env, key, runId, call, keepMs }: OutputCall, nowUs: number): OutputAnswer {
  const at = joinKey(env, OUTPUT_SCOPE, key);
  const held = tables.keys.get(at);
  if (held && held.untilUs! > nowUs)
    return held.payloadHash === call ? { outcome: "taken" } : { outcome: "held", runId: held.runId };
  const untilUs = nowUs + toUs(keepMs);
  tables.keys.set(at, { env, scope: OUTPUT_SCOPE, key, runId, payloadHash: call, lifetime: "timed", untilUs });
  return { outcome: "taken" };
}
