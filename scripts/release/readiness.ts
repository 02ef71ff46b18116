// Whether the repository is ready to be released, from facts about it: what a maintainer still has to do, in sentences.

export interface Facts {
  /** Of package.json. */
  readonly version: string;
  /** Of the root in package-lock.json. */
  readonly lockedVersion: string;
  readonly changelog: string;
  /** Lines of `git status --porcelain`. */
  readonly changes: readonly string[];
  readonly tags: readonly string[];
  readonly commit: string;
  /** The commit whose whole suite has passed, as CI says it. */
  readonly tested: string | null;
  /** Of package.json: provenance names it, and the registry compares it with the workflow that publishes. */
  readonly repository: string | null;
  /** Whether this is a CI job that may ask for an identity token, which provenance is signed with. */
  readonly canSign: boolean;
}

const SEMVER = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

/** The newest entry: `## 1.2.3 (2026-11-17)`, or `(unreleased)` until its day. */
export function newestEntry(changelog: string): { version: string; date: string; text: string } | null {
  const found = /^## (\S+) \(([^)]+)\)\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(changelog);
  return found ? { version: found[1]!, date: found[2]!, text: found[3]! } : null;
}

/** What a dry run finds wrong, too: the tree, the versions, the changelog. */
export function contradictions(facts: Facts): string[] {
  const { version, lockedVersion, changelog, changes, tags } = facts;
  const entry = newestEntry(changelog);
  const found: string[] = [];
  if (changes.length > 0)
    found.push(`Commit or remove ${changes.length} changed files, such as ${changes[0]!.trim()}.`);
  if (!SEMVER.test(version)) found.push(`Make the version ${version} a number such as 1.2.3.`);
  if (lockedVersion !== version) found.push(`Run npm install: package-lock.json has version ${lockedVersion}.`);
  if (entry?.version !== version) {
    found.push(`Begin CHANGELOG.md with an entry for ${version}; its newest is ${entry?.version ?? "missing"}.`);
  }
  if (entry && !/^### Upgrade notes$/m.test(entry.text)) {
    found.push(`Add "### Upgrade notes" to the entry of ${entry.version}, also when there is nothing to do.`);
  }
  if (tags.includes(`v${version}`)) found.push(`Raise the version: the tag v${version} exists.`);
  return found;
}

/** What only a publication needs. */
export function left(facts: Facts): string[] {
  const { changelog, commit, tested, repository, canSign } = facts;
  const found: string[] = [];
  const date = newestEntry(changelog)?.date ?? "";
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) found.push("Replace (unreleased) in CHANGELOG.md by the day of the release.");
  if (tested !== commit) {
    found.push(
      `Run the whole suite on this commit and pass --tested ${commit.slice(0, 12)}; CI passes its own commit.`,
    );
  }
  if (repository === null) found.push("Set repository in package.json: provenance is bound to it.");
  if (!canSign) found.push("Publish from a CI job with the right to request an identity token (id-token: write).");
  return found;
}
