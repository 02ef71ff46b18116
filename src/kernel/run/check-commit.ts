// Validates a commit before any store is called: at least one effect, at most one that settles, and that one last.

import { InvalidInput } from "../error.js";
import type { Effect } from "./effect.js";
import { settles } from "./effect.js";

export function problemOfEffects(effects: readonly Effect[]): InvalidInput | null {
  if (effects.length === 0) return new InvalidInput("effects", "a commit needs at least one effect");
  for (const [i, effect] of effects.entries()) {
    if (settles(effect) && i < effects.length - 1) {
      return new InvalidInput(`effects[${i}]`, `${effect.kind} releases the claim and must be the last effect`);
    }
    if (effect.kind === "retry" && !isDelay(effect.delayMs)) {
      return new InvalidInput(`effects[${i}].delayMs`, "must be zero or more milliseconds");
    }
    if (effect.kind === "park") {
      if (effect.wakeInMs !== null && !isDelay(effect.wakeInMs)) {
        return new InvalidInput(`effects[${i}].wakeInMs`, "must be null or zero or more milliseconds");
      }
      if (!Number.isInteger(effect.wakeAfter) || effect.wakeAfter < 1) {
        return new InvalidInput(`effects[${i}].wakeAfter`, "must be a whole number of at least 1");
      }
    }
  }
  return null;
}

function isDelay(ms: number): boolean {
  return Number.isFinite(ms) && ms >= 0;
}
