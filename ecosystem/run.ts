// `npm run test:ecosystem`: Holdfast as it is packed, with the runtimes, bundlers, frameworks and ORMs around it.
// Names choose cases that contain one of them; --list prints them; --json prints one object as the last line.

import { startEmbedded } from "holdfast/embedded";
import { FRAMEWORKS } from "./cases/frameworks.js";
import { PACKED } from "./cases/package.js";
import { PRISMA } from "./cases/prisma.js";
import { RUNTIMES } from "./cases/runtimes.js";
import { install, openPlace, type Place } from "./place.js";

const CASES: Readonly<Record<string, (place: Place) => Promise<object>>> = {
  ...PACKED,
  ...RUNTIMES,
  ...PRISMA,
  ...FRAMEWORKS,
};

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith("--"));
const chosen = Object.entries(CASES).filter(
  ([name]) => names.length === 0 || names.some((part) => name.includes(part)),
);

if (args.includes("--list")) {
  for (const [name] of chosen) console.log(name);
  process.exit(0);
}

await install();
await using server = await startEmbedded({ temporary: true, settings: { max_connections: "200" } });
await using place = await openPlace(server.url);
const results: { name: string; ok: boolean; ms: number; detail: object }[] = [];
for (const [name, work] of chosen) {
  const startedAt = performance.now();
  const outcome = await work(place).then(
    (detail) => ({ ok: true, detail }),
    (error: unknown) => ({ ok: false, detail: { error: String((error as Error)?.stack ?? error) } }),
  );
  const ms = Math.round(performance.now() - startedAt);
  results.push({ name, ms, ...outcome });
  console.log(`${outcome.ok ? "ok  " : "FAIL"} ${name} (${ms} ms) ${JSON.stringify(outcome.detail)}`);
}
const failed = results.filter(({ ok }) => !ok).length;
console.log(`${results.length - failed} of ${results.length} cases are good`);
if (args.includes("--json")) console.log(JSON.stringify({ ok: failed === 0 && results.length > 0, cases: results }));
process.exitCode = failed === 0 && results.length > 0 ? 0 : 1;
