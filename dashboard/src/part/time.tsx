// Times that tick: an age, a countdown, and an instant in UTC.

import { age, clockTime, countdown, duration } from "../draw/words.js";
import { now, ticking } from "../live/clock.js";

/** How long ago, with the instant as its title. */
export function Age({ at, suffix = "" }: { readonly at: string | null; readonly suffix?: string }) {
  if (at === null) return <span class="muted">–</span>;
  const ms = ticking() - Date.parse(at);
  const text = age(Math.max(0, ms));
  return (
    <time dateTime={at} title={`${clockTime(Date.parse(at), { day: true, fraction: true })} UTC`}>
      {text === "now" ? text : text + suffix}
    </time>
  );
}

interface UntilProps {
  readonly at: string;
  readonly before?: string;
  readonly late?: string;
}

/** How long until, after the words `before`; `late` once it has passed. */
export function Until({ at, before = "", late = "late" }: UntilProps) {
  const ms = Date.parse(at) - ticking();
  const title = `${clockTime(Date.parse(at), { day: true })} UTC`;
  return (
    <time dateTime={at} title={title} class={ms < 0 ? "is-late" : ""}>
      {ms < 0 ? `${duration(-ms)} ${late}` : before + countdown(ms)}
    </time>
  );
}

export function Instant({ at, fraction = false }: { readonly at: string; readonly fraction?: boolean }) {
  const day = at.slice(0, 10) !== new Date(now()).toISOString().slice(0, 10);
  return (
    <time dateTime={at} title={`${at} (UTC)`} class="num">
      {clockTime(Date.parse(at), { day, fraction })}
    </time>
  );
}
