// Resolves the settings of a node. Impossible ones are reported all at once; unwise ones become warnings.

import { HoldfastError, InvalidInput } from "../error.js";
import { checkNames, type OptionNames } from "./option-names.js";
import { readOptions, SETTING_NAMES, type SettingOptions, type Settings, withDefaults } from "./setting-options.js";
import { brokenRelations, IMPOSSIBLE, UNWISE } from "./setting-relations.js";

/** These settings cannot work. Every problem is listed, so that one start finds them all. */
export class InvalidSettings extends HoldfastError {
  readonly code = "INVALID_SETTINGS";
  /** Each problem as a sentence. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `${problems.length === 1 ? "a setting is" : `${problems.length} settings are`} invalid:\n- ${problems.join("\n- ")}`,
    );
    this.problems = problems;
  }
}

/** `names`: all options that the caller accepts; the settings are some of them. */
export function resolveSettings(
  options: SettingOptions = {},
  names: OptionNames = SETTING_NAMES,
): { settings: Settings; warnings: string[] } {
  if (typeof options !== "object" || options === null) throw new InvalidInput("settings", "must be an object");
  const problems = new Map<string, string>();
  checkNames(options, names, problems);
  const settings = withDefaults(readOptions(options, problems));
  const impossible = brokenRelations(IMPOSSIBLE, settings, new Set(problems.keys()));
  if (problems.size + impossible.length > 0) throw new InvalidSettings([...problems.values(), ...impossible]);
  return { settings, warnings: brokenRelations(UNWISE, settings) };
}
