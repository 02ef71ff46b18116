// `holdfast complete`: prints the script that makes a shell complete this command.

import { defineCommand } from "../command.js";
import { CommandMisused } from "../error.js";
import { Completions } from "../library/completion.js";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** The script asks the package bash-completion for the words; many containers do not have it. A name like `etl::load` is one word. */
const WITHOUT_BASH_COMPLETION = `declare -F _get_comp_words_by_ref > /dev/null || _get_comp_words_by_ref() {
    local word glue=
    words=()
    for word in "\${COMP_WORDS[@]:0:COMP_CWORD + 1}"; do
        if [[ \${#words[@]} -gt 0 && ( -n $glue || $word == [:=]* ) ]]; then words[\${#words[@]} - 1]+=$word; else words+=("$word"); fi
        glue=
        if [[ $word == *[:=] ]]; then glue=1; fi
    done
    cword=$((\${#words[@]} - 1))
    cur="\${words[cword]}" prev="\${words[cword - 1]}"
}
`;

/** What the package's scripts do not do with the colons of a name: [the line, what it becomes]. */
const COLONS: Readonly<Partial<Record<string, readonly [RegExp, string]>>> = {
  // Bash replaces only what follows the last colon.
  bash: [
    /^( *COMPREPLY=\( \$\(compgen -W .*)$/m,
    `$1
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        local before="\${cur%"\${cur##*:}"}"
        COMPREPLY=( "\${COMPREPLY[@]#"$before"}" )
    fi`,
  ],
  // Zsh takes what follows the first colon for a description, unless it is escaped.
  zsh: [/\/\/:\/\\:\}/, String.raw`//:/\\:}`],
};

export const complete = defineCommand({
  name: "complete",
  takes: ["bash|zsh|fish"],
  summary: "print the script that makes a shell complete commands, options, run ids and names",
  details:
    "In bash: source <(holdfast complete bash). In zsh: source <(holdfast complete zsh). In fish: holdfast complete fish | source.",
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
    const own = COLONS[shell] ? lines.join("\n").replace(...COLONS[shell]) : lines.join("\n");
    const script = shell === "bash" ? `${WITHOUT_BASH_COMPLETION}\n${own}` : own;
    return { text: `${script}\n`, json: { shell, script } };
  },
});
