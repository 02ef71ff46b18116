// What the demonstration shows: one line per event, the time in front, each node in its own colour.

const COLOURS: Readonly<Record<string, number>> = { anna: 36, bert: 33, cleo: 35 };
const coloured = process.stdout.isTTY && !process.env["NO_COLOR"];
const startedAt = performance.now();
const quiet = process.argv.includes("--json");

const paint = (code: number, text: string) => (coloured ? `\x1b[${code}m${text}\x1b[0m` : text);

function line(text: string): void {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(5);
  if (!quiet) console.log(`${paint(2, `${seconds} s`)}  ${text}`);
}

/** Something a node did. */
export function reportNode(node: string, run: string, what: string): void {
  line(`${paint(COLOURS[node] ?? 0, node.padEnd(5))} ${run.padEnd(8)} ${what}`);
}

/** Something about all of them. */
export function tell(text: string): void {
  line(text);
}

/** Something we do to them. */
export function tellHarm(text: string): void {
  line(paint(31, `▶ ${text}`));
}

export function tellGood(text: string): void {
  line(paint(32, text));
}

/** Belongs to the line before. */
export function sendMore(text: string): void {
  if (!quiet) console.log(`          ${text}`);
}
