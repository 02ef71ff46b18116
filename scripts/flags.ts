// Reads the command line of a script. A flag that the script does not know, or a number that is none, ends it with a sentence and
// exit code 2: a long run with a mistyped flag would otherwise be a short run with the default.

type Kind = "switch" | "number" | "text";
type Known = Readonly<Record<string, Kind>>;
type Read<K extends Known> = {
  readonly [F in keyof K]: K[F] extends "switch" ? boolean : (K[F] extends "number" ? number : string) | undefined;
};

/** `known` names the flags without their dashes; `--json` is always one of them. */
export function flagsIn<K extends Known>(known: K, words: readonly string[]): Read<K & { json: "switch" }> {
  const kinds: Known = { ...known, json: "switch" };
  const found: Record<string, boolean | number | string> = {};
  for (const [flag, kind] of Object.entries(kinds)) if (kind === "switch") found[flag] = false;
  for (let i = 0; i < words.length; i++) {
    const flag = words[i]!.replace(/^--/, "");
    const kind = words[i]!.startsWith("--") ? kinds[flag] : undefined;
    if (kind === undefined) {
      throw new Error(`${words[i]} is not an option. There are: --${Object.keys(kinds).join(", --")}.`);
    }
    if (kind === "switch") found[flag] = true;
    else found[flag] = readValue(flag, kind, words[++i]);
  }
  return found as Read<K & { json: "switch" }>;
}

function readValue(flag: string, kind: Kind, word: string | undefined): number | string {
  if (word === undefined || word.startsWith("--")) throw new Error(`--${flag} needs a value.`);
  if (kind === "text") return word;
  const value = Number(word);
  if (word.trim() === "" || !(value >= 0)) throw new Error(`--${flag} takes a number, and got ${word}.`);
  return value;
}

/** Of this process. */
export function flagsOf<K extends Known>(known: K): Read<K & { json: "switch" }> {
  try {
    return flagsIn(known, process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}
