// The validated timing and capacity settings of a node. All impossible values are reported at once; unwise ones are
// warnings.

import { HoldfastError, InvalidInput } from "../error.js";
import { readOptions, type SettingOptions, type Settings, withDefaults } from "./setting-options.js";
import { brokenRelations, IMPOSSIBLE, UNWISE } from "./setting-relations.js";

/** These settings cannot work; all reasons are listed, so that one start finds them all. */
export class InvalidSettings extends HoldfastError {
  readonly code = "INVALID_SETTINGS";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `${problems.length === 1 ? "a setting is" : `${problems.length} settings are`} invalid:\n- ${problems.join("\n- ")}`,
    );
    this.problems = problems;
  }
}

export function resolveSettings(options: SettingOptions = {}): { settings: Settings; warnings: string[] } {
  if (typeof options !== "object" || options === null) throw new InvalidInput("settings", "must be an object");
  const problems = new Map<string, string>();
  const settings = withDefaults(readOptions(options, problems));
  const impossible = brokenRelations(IMPOSSIBLE, settings, new Set(problems.keys()));
  if (problems.size + impossible.length > 0) throw new InvalidSettings([...problems.values(), ...impossible]);
  return { settings, warnings: brokenRelations(UNWISE, settings) };
}
