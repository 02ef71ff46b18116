// `npm run release -- [--dry-run | --publish] [--tested COMMIT] [--json]`: checks the tree, builds, packs, judges the archive, installs it.
// Only `--publish` publishes, with provenance, from CI, and only when nothing is left to do. The last line is one JSON object with --json.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PACKED } from "../ecosystem/cases/package.js";
import { install } from "../ecosystem/place.js";
import { flagsOf } from "./flags.js";
import { installed, pack, ROOT, run } from "./release/pack.js";
import { fileProblems, INSTALLED, loadedFiles, sizeProblems } from "./release/package-content.js";
import { contradictions, type Facts, left } from "./release/readiness.js";

const flags = flagsOf({ "dry-run": "switch", publish: "switch", tested: "text" });
const isJson = flags.json;
const publishes = flags.publish && !flags["dry-run"];
const say = (line: string) => (isJson ? console.error(line) : console.log(line));
const steps: { name: string; ok: boolean; ms: number; detail: unknown }[] = [];

/** A step that throws has failed; its reason is its detail. The steps after it run as well, to name everything at once. */
async function step<T>(name: string, work: () => Promise<T>): Promise<T | null> {
  const startedAt = performance.now();
  const outcome = await work().then(
    (detail) => ({ ok: true, detail }),
    (error: unknown) => ({ ok: false, detail: reasonOf(error) }),
  );
  steps.push({ name, ms: Math.round(performance.now() - startedAt), ...outcome });
  say(`${outcome.ok ? "ok  " : "FAIL"} ${name} ${JSON.stringify(outcome.detail)}`);
  return outcome.ok ? (outcome.detail as T) : null;
}

/** Of a command, the end of what it printed says more than its message. */
function reasonOf(error: unknown): string {
  const { message, stdout = "", stderr = "" } = error as Error & { stdout?: string; stderr?: string };
  return [message ?? String(error), stdout.slice(-1_500), stderr.slice(-1_500)].filter(Boolean).join("\n");
}

function expectNone(problems: readonly string[]): void {
  if (problems.length > 0) throw new RangeError(problems.join(" "));
}

async function factsOfTree(): Promise<Facts> {
  const [manifest, lock, changelog] = await Promise.all(
    ["package.json", "package-lock.json", "CHANGELOG.md"].map((name) => readFile(join(ROOT, name), "utf8")),
  );
  const { version, repository } = JSON.parse(manifest!);
  const lines = async (...command: string[]) => (await run(ROOT, "git", ...command)).split("\n").filter(Boolean);
  const [commit] = await lines("rev-parse", "HEAD");
  const { tested = null } = flags;
  return {
    version,
    lockedVersion: JSON.parse(lock!).version,
    changelog: changelog!,
    changes: await lines("status", "--porcelain"),
    tags: await lines("tag", "--list"),
    commit: commit!,
    tested: tested !== null && tested.length >= 12 && commit!.startsWith(tested) ? commit! : tested,
    repository: repository?.url ?? repository ?? null,
    canSign: Boolean(process.env["ACTIONS_ID_TOKEN_REQUEST_URL"] ?? process.env["SIGSTORE_ID_TOKEN"]),
  };
}

/** Builds, packs and judges the archive. */
async function judge(folder: string): Promise<string | null> {
  let packed: Awaited<ReturnType<typeof pack>> | null = null;
  await step("build and pack", async () => {
    packed = await pack(folder);
    const { size: archiveBytes, unpackedSize: unpackedBytes, files } = packed;
    return { archiveBytes, unpackedBytes, files: files.length };
  });
  if (!packed) return null;
  const { archive } = packed as Awaited<ReturnType<typeof pack>>;
  await step("content and size", async () => {
    const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    expectNone([...fileProblems(packed!.files, loadedFiles(manifest)), ...sizeProblems(packed!)]);
    return {};
  });
  await step("install into an empty folder", async () => {
    const found = await installed(archive);
    if (found.packages >= INSTALLED.packages) throw new RangeError(`${found.packages} packages`);
    if (found.bytes >= INSTALLED.bytes) throw new RangeError(`${found.bytes} bytes`);
    return found;
  });
  await install();
  for (const [name, work] of Object.entries(PACKED)) await step(name, () => work({ tarball: archive }));
  return archive;
}

const folder = await mkdtemp(join(tmpdir(), "holdfast-release-"));
try {
  const facts = await factsOfTree();
  await step("tree, versions, changelog", async () => {
    expectNone(contradictions(facts));
    return { version: facts.version, commit: facts.commit };
  });
  await step("npm run check", () => run(ROOT, "npm", "run", "check", "--silent").then(() => ({})));
  const archive = await judge(folder);
  const todo = left(facts);
  for (const one of todo) say(`to do: ${one}`);
  const isGood = () => steps.every(({ ok }) => ok);
  if (publishes && archive && isGood()) {
    await step("publish", async () => {
      expectNone(todo);
      await run(ROOT, "npm", "publish", archive, "--provenance", "--access", "public");
      return { published: facts.version };
    });
  }
  const ok = isGood();
  const summary = { ok, version: facts.version, published: publishes && ok, todo, steps };
  console.log(isJson ? JSON.stringify(summary) : `${ok ? "ok" : "FAILED"}: ${facts.version}, ${todo.length} to do`);
  process.exitCode = ok ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
