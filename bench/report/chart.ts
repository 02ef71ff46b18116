// Draws the figures of a work as bars, one group per quantity, as SVG.

import type { Figure, WorkReport } from "./figure.js";
import { namesOf, ranked, shown } from "./table.js";

const WIDTH = 760;
const LABELS = 150;
const VALUES = 150;
const BAR = 18;
const GAP = 6;
const HEADING = 30;

const COLOURS: Readonly<Record<string, string>> = { holdfast: "#1f6f5c", sql: "#b8b8b8" };
const OTHER = "#7c93b5";

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

const text = (x: number, y: number, content: string, extra = "") =>
  `<text x="${x}" y="${y}"${extra}>${escaped(content)}</text>`;

/** The bar, its spread over the rounds as a thin line, and the value. */
function bar(figure: Figure, y: number, most: number): string {
  const at = (value: number) => LABELS + (Math.max(0, value) / most) * (WIDTH - LABELS - VALUES);
  const middle = y + BAR / 2;
  const fill = COLOURS[figure.library] ?? OTHER;
  return [
    text(LABELS - 8, middle + 4, figure.library === "sql" ? "plain SQL" : figure.library, ' text-anchor="end"'),
    `<rect x="${LABELS}" y="${y}" width="${Math.max(1, at(figure.median) - LABELS).toFixed(1)}" height="${BAR}" fill="${fill}"/>`,
    `<path d="M${at(figure.low).toFixed(1)} ${middle}H${at(figure.high).toFixed(1)}" stroke="#222" stroke-width="1.5"/>`,
    text(Math.max(at(figure.high), at(figure.median)) + 8, middle + 4, `${shown(figure.median)} ${figure.unit}`.trim()),
  ].join("\n");
}

function group(figures: readonly Figure[], y: number): string {
  const [{ name, better }] = figures as [Figure, ...Figure[]];
  const most = Math.max(...figures.map(({ high }) => high), Number.MIN_VALUE);
  const heading = text(0, y + 20, `${name} (${better} is better)`, ' font-weight="600"');
  const bars = figures.map((figure, i) => bar(figure, y + HEADING + i * (BAR + GAP), most));
  return [heading, ...bars].join("\n");
}

export function chartOf({ work, title, figures }: WorkReport): string {
  const groups = namesOf(figures).map((name) => ranked(figures, name));
  let y = 36;
  const drawn = groups.map((some) => {
    const one = group(some, y);
    y += HEADING + some.length * (BAR + GAP) + 10;
    return one;
  });
  const heading = `${work.toUpperCase()}: ${title}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img"`,
    `  aria-label="${escaped(heading)}" font-family="system-ui, sans-serif" font-size="13" fill="#222">`,
    `<rect width="${WIDTH}" height="${y}" fill="#fff"/>`,
    text(0, 20, heading, ' font-size="16" font-weight="700"'),
    ...drawn,
    "</svg>",
    "",
  ].join("\n");
}
