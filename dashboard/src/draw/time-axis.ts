// A time axis: instants to pixels, and ticks at round times.

export interface TimeAxis {
  readonly from: number;
  readonly to: number;
  readonly width: number;
}

const ROUND_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000,
];

/** From the first to the last instant with a little room at the right; never without length. */
export function timeAxis(instants: readonly number[], width: number): TimeAxis {
  const from = instants.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const to = instants.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  if (!Number.isFinite(from) || !Number.isFinite(to)) return { from: 0, to: 1_000, width };
  const room = Math.max((to - from) * 0.02, 20);
  return { from, to: to + room, width };
}

/** Rounded to a tenth of a pixel, so that drawings are short and comparable. */
export function xOf({ from, to, width }: TimeAxis, at: number): number {
  const share = (Math.min(Math.max(at, from), to) - from) / (to - from);
  return Math.round(share * width * 10) / 10;
}

export interface Tick {
  readonly at: number;
  readonly x: number;
  readonly text: string;
  /** `end` where the text has no room at the right of its line. */
  readonly anchor: "start" | "end";
}

const CHARACTER = 7;

/** About one tick per 110 pixels. The first names the whole time, later ones what changed. */
export function ticksOf(axis: TimeAxis): readonly Tick[] {
  const most = Math.max(2, Math.floor(axis.width / 110));
  const span = axis.to - axis.from;
  const step = ROUND_MS.find((ms) => span / ms <= most) ?? 604_800_000 * Math.ceil(span / 604_800_000 / most);
  const first = Math.ceil(axis.from / step) * step;
  const ticks: Tick[] = [];
  for (let at = first; at <= axis.to && (ticks.length === 0 || xOf(axis, at) < axis.width - 28); at += step) {
    const [x, text] = [xOf(axis, at), tickText(at, step, ticks.at(-1)?.at ?? null)];
    ticks.push({ at, x, text, anchor: x + text.length * CHARACTER > axis.width ? "end" : "start" });
  }
  return ticks;
}

function tickText(at: number, step: number, before: number | null): string {
  const iso = new Date(at).toISOString();
  const newDay =
    before === null ? step >= 86_400_000 : iso.slice(0, 10) !== new Date(before).toISOString().slice(0, 10);
  if (step >= 86_400_000 || (newDay && before !== null))
    return `${iso.slice(5, 10)} ${iso.slice(11, 16)}`.replace(" 00:00", "");
  if (step >= 60_000) return iso.slice(11, 16);
  if (step >= 1_000) return before === null || iso.slice(17, 19) === "00" ? iso.slice(11, 19) : `:${iso.slice(17, 19)}`;
  return before === null ? iso.slice(11, 23) : iso.slice(17, 23).replace(/0+$/, "").replace(/\.$/, ".0");
}
