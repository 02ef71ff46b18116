// Builds the help texts from the commands' own descriptions.

import type { Command, CommandOption } from "./command.js";
import { COMMON_OPTIONS } from "./options.js";

export function overallHelp(commands: readonly Command[]): string {
  const lines = commands.map((command) => [[command.name, ...command.takes].join(" "), command.summary] as const);
  return `Usage: holdfast COMMAND [options]

${aligned(lines)}

Every command:
${aligned(Object.entries(COMMON_OPTIONS).map(optionLine))}
  --version          the version of this package

Exit codes: 0 ok, 1 failed (not found, refused), 2 wrong usage, 3 database unreachable.
\`holdfast COMMAND --help\` shows the help of a command.
`;
}

export function commandHelp({ name, takes, summary, details, options }: Command): string {
  const usage = ["holdfast", name, ...takes, "[options]"].join(" ");
  const own = Object.entries(options).map(optionLine);
  const common = Object.entries(COMMON_OPTIONS).map(optionLine);
  return `Usage: ${usage}

${summary[0]!.toUpperCase()}${summary.slice(1)}.
${details ? `${details.trim()}\n` : ""}
${aligned([...own, ...common])}
`;
}

function optionLine([name, { short, value, description }]: [string, CommandOption]): readonly [string, string] {
  return [`${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}`, description];
}

/** A wider left side gets a line of its own, so that one long command does not push all others out of the window. */
const WIDEST_LEFT = 28;

function aligned(lines: readonly (readonly [string, string])[]): string {
  const narrow = lines.filter(([left]) => left.length <= WIDEST_LEFT);
  const width = Math.max(17, ...narrow.map(([left]) => left.length));
  return lines
    .map(([left, right]) => {
      const gap = left.length > width ? `\n${" ".repeat(width + 4)}` : `${" ".repeat(width - left.length)}  `;
      return `  ${left}${gap}${right}`;
    })
    .join("\n");
}
