// docs/settings.md says what the code does: every setting with its default and bounds, every relation.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formatDuration } from "../../src/kernel/duration.js";
import { BOUNDS, type SettingName, withDefaults } from "../../src/kernel/setting/setting-options.js";
import { IMPOSSIBLE, UNWISE } from "../../src/kernel/setting/setting-relations.js";
import { OPTION_NAMES } from "../../src/node/node-options.js";

const tables = readFileSync(join(import.meta.dirname, "../../docs/settings.md"), "utf8")
  .split("\n\n")
  .filter((part) => part.startsWith("| "))
  .map((table) =>
    table
      .trim()
      .split("\n")
      .slice(2)
      .map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  );

test("every setting is listed with its default and its bounds", () => {
  const defaults = withDefaults({}) as unknown as Readonly<Record<string, number | null>>;
  const said = tables[0]!.map(([name, byDefault, from, to]) => [name!.replaceAll("`", ""), byDefault, from, to]);
  const known = Object.entries(BOUNDS).map(([name, { kind, least, most }]) => {
    const isCount = kind === "count";
    const show = isCount ? String : formatDuration;
    const field = name.slice(name.indexOf(".") + 1);
    const byDefault = defaults[isCount ? field : `${field}Ms`] ?? null;
    return [name, byDefault === null ? "adapts" : show(byDefault), show(least), show(most)];
  });
  expect(said).toEqual(known);
});

test("every other option is listed, under its group", () => {
  const known = Object.entries(OPTION_NAMES).flatMap(([name, group]) =>
    group === true ? [name] : Object.keys(group).map((option) => `${name}.${option}`),
  );
  const said = tables[2]!.flatMap(([names]) => [...names!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));
  expect([...said, ...Object.keys(BOUNDS)].sort()).toEqual(known.sort());
});

test("every relation is listed, as an error or a warning", () => {
  const said = tables[1]!.map(([between, is]) => [between!.replaceAll("`", ""), is]);
  const named = (between: readonly SettingName[]) => between.join(", ");
  expect(said).toEqual([
    ...IMPOSSIBLE.map(({ between }) => [named(between), "refused"]),
    ...UNWISE.map(({ between }) => [named(between), "warned"]),
  ]);
});
