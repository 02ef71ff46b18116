// Numbers and times as short words, the same on every page.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `340 ms`, `1.9 s`, `12 s`, `9 min`, `3 h`, `4 d`. */
export function duration(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1_000) return `${Math.round(size)} ms`;
  if (size < 10_000) return `${(size / 1_000).toFixed(1)} s`;
  if (size < 2 * MINUTE) return `${Math.round(size / 1_000)} s`;
  if (size < 2 * HOUR) return `${Math.round(size / MINUTE)} min`;
  if (size < 2 * DAY) return `${Math.round(size / HOUR)} h`;
  return `${Math.round(size / DAY)} d`;
}

/** Counts in seconds from one second up: for ages that tick. */
export function age(ms: number): string {
  return ms < 1_000 ? "now" : duration(ms < 10_000 ? Math.floor(ms / 1_000) * 1_000 : ms).replace(".0 s", " s");
}

/** `41:07`, `1:04:09`: for deadlines that count down. */
export function countdown(ms: number): string {
  const total = Math.max(0, Math.ceil(ms / 1_000));
  const [h, m, s] = [Math.floor(total / 3_600), Math.floor((total % 3_600) / 60), total % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  if (h >= 48) return `${Math.floor(h / 24)} d`;
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${two(m)}:${two(s)}`;
}

/** `18:03:12.4` in UTC; with the day when asked. */
export function clockTime(at: number, options: { readonly day?: boolean; readonly fraction?: boolean } = {}): string {
  const iso = new Date(at).toISOString();
  const time = iso.slice(11, options.fraction === true ? 21 : 19);
  return options.day === true ? `${iso.slice(0, 10)} ${time}` : time;
}

export function count(n: number): string {
  return n.toLocaleString("en-US").replaceAll(",", " ");
}

/** A capped count says that it is one. */
export function cappedCount({ n, atLeast }: { readonly n: number; readonly atLeast: boolean }): string {
  return atLeast ? `more than ${count(n)}` : count(n);
}

export function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 0.1) return `${(perSecond * 60).toFixed(1)}/min`;
  return perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond));
}

export function share(part: number): string {
  if (part === 0) return "0";
  return part < 0.001 ? "< 0.1 %" : `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;
}

export function bytes(n: number): string {
  if (n < 1_024) return `${n} B`;
  return n < 1_048_576 ? `${(n / 1_024).toFixed(n < 10_240 ? 1 : 0)} kB` : `${Math.round(n / 1_048_576)} MB`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
