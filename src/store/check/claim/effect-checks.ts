// Checks each kind of effect. The compiler requires a line for each new kind.

import { versionName } from "../../../kernel/name.js";
import type { AppendEffect, Effect, FailEffect } from "../../../kernel/run/effect.js";
import { checkRun } from "../run/run.js";
import * as v from "../value.js";

type Fields<Kind extends Effect["kind"]> = {
  readonly [Field in keyof Extract<Effect, { kind: Kind }>]?: v.Check;
};
type EffectFields = { readonly [Kind in Effect["kind"]]: Fields<Kind> };

const ENDS: readonly FailEffect["as"][] = ["failed", "dead", "cancelled", "skipped", "quarantined"];

const checkEntry = v.shape<AppendEffect["entry"]>("entry", {
  kind: v.checkText,
  name: v.checkText,
  key: v.optional(v.checkText),
  payload: v.optional(v.checkPayload),
});

const FIELDS: EffectFields = {
  append: { entry: checkEntry },
  take: { messageKey: v.checkText, messageId: v.optional(v.checkUuid) },
  enqueue: { name: v.checkText, run: checkRun, call: v.optional(v.checkText) },
  complete: { output: v.checkPayload },
  fail: { as: v.among(ENDS), reason: v.checkPayload },
  retry: { delayMs: v.checkDelay, error: v.checkPayload },
  park: { wakeInMs: v.nullable(v.checkDelay), wakeAfter: v.integer(1), seenInboxSeq: v.integer(0, Number.MAX_VALUE) },
  continue: { input: v.checkPayload, reopen: v.listOf("message keys", v.checkText) },
  misfit: { build: v.named(versionName), reason: v.checkPayload },
  handBack: {},
  pause: {},
};

const CHECKS = new Map(Object.entries(FIELDS).map(([kind, fields]) => [kind, v.shape("effect", fields)]));

/** Its kind is known. */
export function checkEffect(path: string, effect: Effect): v.Problem {
  return CHECKS.get(effect.kind)!(path, effect);
}
