// The words of `npm run bench -- NAME… [--peers] [--quick] [--json]`.

/** `all` are the works W1 to W11; the benchmarks of one part have names of their own. */
export interface Command {
  readonly names: readonly string[];
  readonly peers: boolean;
  readonly quick: boolean;
  /** For the tests: every part once, with a handful of runs. */
  readonly tiny: boolean;
  readonly json: boolean;
  /** Of a benchmark with several figures. */
  readonly only?: string;
}

const FLAGS = ["--peers", "--quick", "--tiny", "--json"];

/** A text when the words make no sense. */
export function readCommand(
  words: readonly string[],
  works: readonly string[],
  parts: readonly string[],
): Command | string {
  const usage = `usage: npm run bench -- NAME… [--peers] [--quick] [--json]\n  NAME: all | ${[...works, ...parts].join(" | ")}`;
  const flags = words.filter((word) => word.startsWith("--") && !word.startsWith("--only="));
  const only = words.find((word) => word.startsWith("--only="))?.slice("--only=".length);
  const given = words.filter((word) => !word.startsWith("--"));
  const known = new Set([...works, ...parts, "all"]);
  const unknown = [...flags.filter((flag) => !FLAGS.includes(flag)), ...given.filter((name) => !known.has(name))];
  if (unknown.length > 0) return `unknown: ${unknown.join(", ")}\n${usage}`;
  if (given.length === 0) return usage;
  const names = [...new Set(given.flatMap((name) => (name === "all" ? works : [name])))];
  return {
    names,
    peers: flags.includes("--peers"),
    quick: flags.includes("--quick"),
    tiny: flags.includes("--tiny"),
    json: flags.includes("--json"),
    ...(only !== undefined && { only }),
  };
}
