// `holdfast complete`: prints the script that makes a shell complete this command.

import { defineCommand } from "../command.js";
import { CommandMisused } from "../error.js";
import { Completions } from "../library/completion.js";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** The script asks the package bash-completion for the words; many containers do not have it. */
const WITHOUT_BASH_COMPLETION = `declare -F _get_comp_words_by_ref > /dev/null || _get_comp_words_by_ref() {
    cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}" words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
}
`;

export const complete = defineCommand({
  name: "complete",
  takes: ["bash|zsh|fish"],
  summary: "print the script that makes a shell complete commands, options, run ids and names",
  details: "In bash and zsh: source <(holdfast complete bash). In fish: holdfast complete fish | source.",
  options: {},
  run: async ({ arguments: [word] }) => {
    const shell = SHELLS.find((known) => known === word);
    if (!shell) throw new CommandMisused(`${JSON.stringify(word)} is not a shell; use ${SHELLS.join(", ")}`);
    const lines: string[] = [];
    const print = console.log;
    // The package prints by itself; with --json the script is a field.
    console.log = (line: string) => void lines.push(line);
    try {
      new Completions().setup("holdfast", "holdfast", shell);
    } finally {
      console.log = print;
    }
    const script = [...(shell === "bash" ? [WITHOUT_BASH_COMPLETION] : []), ...lines].join("\n");
    return { text: `${script}\n`, json: { shell, script } };
  },
});
