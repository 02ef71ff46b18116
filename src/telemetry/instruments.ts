// What a node measures: one instrument per line, fed by the node's events. `/metrics` and OpenTelemetry are made from this table.

export type InstrumentLabels = Readonly<Record<string, string>>;

export interface Instrument {
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "histogram";
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
  /** By the event's name: what it adds. `value`: 1 by default; null: nothing. */
  readonly on: Readonly<Record<string, (event: Facts) => Added | null>>;
}

// biome-ignore lint/suspicious/noExplicitAny: facts of every event; the table is checked against the events by a test.
type Facts = any;

export interface Added {
  readonly labels?: InstrumentLabels;
  readonly value?: number;
}

/** Seconds of work, and seconds that something was late. */
const WORK = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const LATE = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

const counter = (name: string, help: string, labels: readonly string[], on: Instrument["on"]): Instrument => ({
  name: `holdfast_${name}_total`,
  help,
  kind: "counter",
  labels,
  on,
});
const histogram = (
  { name, help, buckets }: { name: string; help: string; buckets: readonly number[] },
  labels: readonly string[],
  on: Instrument["on"],
): Instrument => ({ name: `holdfast_${name}_seconds`, help, kind: "histogram", labels, buckets, on });

const one: (event: Facts) => Added = () => ({});
const of =
  (...names: readonly string[]) =>
  (event: Facts): Added => ({ labels: Object.fromEntries(names.map((name) => [name, String(event[name])])) });
const outcome =
  (text: string, ...names: readonly string[]) =>
  (event: Facts): Added => ({ labels: { ...of(...names)(event).labels, outcome: text } });
const seconds =
  (field: string, ...names: readonly string[]) =>
  (event: Facts): Added => ({ ...of(...names)(event), value: event[field] / 1000 });

export const INSTRUMENTS: readonly Instrument[] = [
  counter("runs_claimed", "Runs that this node claimed.", ["program", "executor"], {
    "run.claimed": of("program", "executor"),
  }),
  counter("runs_settled", "Claims that this node released in order, by how.", ["program", "as"], {
    "run.settled": of("program", "as"),
  }),
  histogram({ name: "run_claim", help: "Time from a claim to its release.", buckets: WORK }, ["program"], {
    "run.settled": seconds("ms", "program"),
  }),
  counter("steps", "Attempts of steps, by outcome.", ["outcome"], {
    "step.completed": outcome("completed"),
    "step.retried": outcome("retried"),
    "step.failed": outcome("failed"),
  }),
  histogram({ name: "step", help: "Time of a step that completed.", buckets: WORK }, [], {
    "step.completed": seconds("ms"),
  }),
  counter("runs_reclaimed", "Runs that this node reclaimed from others.", ["outcome"], {
    "run.reclaimed": of("outcome"),
  }),
  histogram({ name: "recovery_delay", help: "Time since the last renewal of a reclaimed run.", buckets: LATE }, [], {
    "run.reclaimed": ({ renewedAgoMs }) => (renewedAgoMs === null ? null : { value: renewedAgoMs / 1000 }),
  }),
  counter("claims_lost", "Claims that this node lost while it worked.", [], { "claim.lost": one }),
  counter("claims_in_doubt", "Claims that were not renewed for a lease's time.", [], { "claim.in_doubt": one }),
  counter("claims_failed", "Requests for work that failed.", [], { "claim.failed": one }),
  counter("lease_renew_failures", "Renewals that failed.", [], { "lease.renew_failed": one }),
  counter("store_trouble", "Operations that were held back by trouble of the store.", ["code"], {
    "store.trouble": of("code"),
  }),
  counter("runs_broken", "Runs that a program broke outside of user code.", [], { "run.broken": one }),
  counter("runs_misfit", "Runs that this node's code does not fit.", ["program"], { "run.misfit": of("program") }),
  counter("runs_quarantined", "Runs that no live node's code fits.", ["program"], {
    "run.quarantined": of("program"),
  }),
  counter("runs_overflowed", "Runs that a limit skipped.", ["program"], { "run.overflowed": of("program") }),
  counter("budget_exhausted", "Episodes that used up their budget.", ["program"], {
    "run.budget_exhausted": of("program"),
  }),
  counter("runs_deferred", "Runs that this node started for others.", ["program"], { "run.deferred": of("program") }),
  counter("breaker_changes", "Circuit breakers that opened or closed.", ["program", "outcome"], {
    "breaker.opened": outcome("opened", "program"),
    "breaker.closed": outcome("closed", "program"),
  }),
  counter("schedule_fires", "Windows of schedules, by outcome.", ["outcome"], {
    "schedule.fired": outcome("fired"),
    "schedule.skipped": outcome("skipped"),
    "schedule.rejected": outcome("rejected"),
    "schedule.failed": outcome("failed"),
  }),
  counter("timer_failures", "Timers that failed or were given up.", ["outcome"], {
    "timer.failed": outcome("failed"),
    "timer.dead": outcome("dead"),
  }),
  counter("housekeeping_failures", "Rounds of housekeeping that failed.", [], { "housekeeping.failed": one }),
  counter("node_blocked", "Times that the event loop was blocked for longer than a renewal interval.", [], {
    "node.blocked": one,
  }),
];

/** Labels may take this many values; the rest is `other`. */
const MOST_VALUES = 200;

/** Keeps the number of series bounded, whatever programs are called. */
export class LabelValues {
  readonly #seen = new Map<string, Set<string>>();

  bounded(labels: InstrumentLabels): InstrumentLabels {
    return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, this.#bounded(name, value)]));
  }

  #bounded(name: string, value: string): string {
    const seen = this.#seen.get(name) ?? new Set();
    this.#seen.set(name, seen);
    if (!seen.has(value) && seen.size >= MOST_VALUES) return "other";
    seen.add(value);
    return value;
  }
}
