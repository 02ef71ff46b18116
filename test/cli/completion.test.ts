// Shell completion in the shells themselves: the printed scripts ask a command that answers as `holdfast` does, also names with colons.

import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith } from "../harness/require.js";
import { typed } from "./holdfast.js";

const folder = mkdtempSync(join(tmpdir(), "holdfast-completion-"));
const PATH = `${folder}:${process.env["PATH"]}`;

/** What `holdfast complete -- …` answers, by the words before the last. */
const ANSWERS = `#!/bin/sh
case "$*" in
  "complete -- runs --program"*) printf 'etl\\tprogram\\netl::extract\\tprogram\\nmail\\tprogram\\n:4\\n' ;;
  "complete -- runs --st"*) printf -- '--state\\tonly in this state\\n:4\\n' ;;
  *) printf 'approve\\tdecide an approval\\nruns\\tthe newest runs\\n:4\\n' ;;
esac
`;

beforeAll(async () => {
  writeFileSync(join(folder, "holdfast"), ANSWERS);
  chmodSync(join(folder, "holdfast"), 0o755);
  for (const shell of ["bash", "zsh", "fish"]) {
    writeFileSync(join(folder, shell), (await typed(["complete", shell])).stdout);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function said(shell: string, ...words: readonly string[]): Promise<string> {
  const env = { PATH, HOME: folder, TERM: "xterm" };
  return (await promisify(execFile)(shell, words, { env, cwd: folder, timeout: 20_000 })).stdout;
}

describe("bash", () => {
  /** `words`: as bash splits the line, at colons too. */
  const offered = async (...words: readonly string[]) => {
    const quoted = words.map((word) => `'${word}'`).join(" ");
    const line = `source ${folder}/bash; compopt() { :; }; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}
      __holdfast_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return (await said("bash", "--norc", "-c", line)).split("\n").filter((word) => word !== "");
  };

  test("completes commands and options", async () => {
    expect(await offered("holdfast", "appr")).toEqual(["approve"]);
    expect(await offered("holdfast", "runs", "--st")).toEqual(["--state"]);
  });

  test("completes names with colons, of which it replaces only the last part", async () => {
    expect(await offered("holdfast", "runs", "--program", "et")).toEqual(["etl", "etl::extract"]);
    expect(await offered("holdfast", "runs", "--program", "etl", "::")).toEqual(["extract"]);
    expect(await offered("holdfast", "runs", "--program", "etl", "::", "ex")).toEqual(["extract"]);
  });
});

describeWith("fish", "fish", (fish) => {
  const offered = async (line: string) =>
    (await said(fish, "--no-config", "-c", `source ${folder}/fish; complete -C '${line}'`)).trim().split("\n");

  test("completes commands, options and names with colons, with what they are", async () => {
    expect(await offered("holdfast appr")).toEqual(["approve\tdecide an approval"]);
    expect(await offered("holdfast runs --st")).toEqual(["--state\tonly in this state"]);
    expect(await offered("holdfast runs --program etl:")).toEqual(["etl::extract\tprogram"]);
  });
});

describeWith("zsh", "zsh", (zsh) => {
  /** Types the line and a tab into a shell on a terminal of its own, and reads until the text is there. */
  const completes = (line: string, text: string) =>
    said(
      zsh,
      "-f",
      "-c",
      `zmodload zsh/zpty
       zpty z ${zsh} -f -i
       zpty -w z "PS1='> '; autoload -Uz compinit; compinit -u -D; source ${folder}/zsh; print REA''DY"
       zpty -r z out '*READY*'
       zpty -w -n z '${line}'$'\\t'
       zpty -r z out '*${text}*'
       print -r -- "$out"; zpty -d z`,
    );

  test.each([
    ["holdfast appr", "approve"],
    ["holdfast runs --st", "--state"],
    ["holdfast runs --program ma", "mail"],
    ["holdfast runs --program etl::", "extract"],
  ])("%s", async (line, text) => {
    expect(await completes(line, text)).toContain(text);
  });
});
