// The part of docs/faults.md that is generated from the matrix.

import { CONFORMANCE, type Fault, MATRIX, namedBy } from "./matrix.js";

const BEGIN = "<!-- The matrix: `npm run faults -- --write` writes it. -->";
const END = "<!-- End of the matrix. -->";
const WIDTH = 136;

export function pageWith(page: string): string {
  const [before, rest] = page.split(BEGIN) as [string, string | undefined];
  const after = rest?.split(END)[1];
  if (after === undefined) throw new TypeError("docs/faults.md has no place for the matrix");
  return `${before}${BEGIN}\n\n${matrixText()}\n${END}${after}`;
}

function matrixText(): string {
  return Object.entries(MATRIX)
    .map(([part, faults]) => `## ${part}\n\n${faults.map((one) => wrapped(lineOf(one))).join("\n")}\n`)
    .join("\n");
}

function lineOf({ id, fault, holds, tests, whyNot }: Fault): string {
  const files = [...new Set(tests.map((test) => `\`${shownFile(test)}\``))].join(", ");
  const shown = whyNot === undefined ? `Tests: ${files}` : `No test: ${whyNot}`;
  return `- **${id}: ${fault}.** ${holds} ${shown}`;
}

/** A group of the conformance suite has a file of its own. */
function shownFile(test: string): string {
  const { file, text } = namedBy(test);
  const group = text?.startsWith("^") ? CONFORMANCE[text.slice(1).trim()] : undefined;
  return group === undefined ? file : `src/testing/conformance/${group}.ts`;
}

function wrapped(line: string): string {
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ")) {
    if (current !== "" && `${current} ${word}`.length > WIDTH) {
      lines.push(current);
      current = ` `;
    }
    current = current === "" ? word : `${current} ${word}`;
  }
  return [...lines, current].join("\n");
}
