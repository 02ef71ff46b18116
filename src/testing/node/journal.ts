// The journal of a run as a test reads it: its events, and what each step did.

import type { RunEvent } from "../../client/run-event.js";
import { HoldfastError } from "../../kernel/error.js";

/** The journal is not what the test expects. */
export class JournalDiffers extends HoldfastError {
  readonly code = "JOURNAL_DIFFERS";
}

/** One step of a run, as the journal has it. */
export interface JournalStep {
  /** The name of the step. */
  readonly name: string;
  /** Distinguishes steps of one name. */
  readonly key: string;
  /** `running`: it failed and will be tried again, or its end is not recorded. */
  readonly state: "done" | "failed" | "running";
  /** Recorded attempts. */
  readonly attempts: number;
  /** The recorded result. */
  readonly value?: unknown;
  /** The recorded error, when it failed. */
  readonly error?: Error;
}

/** What a run has recorded, for assertions. */
export class Journal {
  /** Everything it recorded, in order. */
  readonly events: readonly RunEvent[];

  constructor(events: readonly RunEvent[]) {
    this.events = events;
  }

  /** All events of one type. */
  of<Type extends RunEvent["type"]>(type: Type): readonly Extract<RunEvent, { readonly type: Type }>[] {
    return this.events.filter((event): event is Extract<RunEvent, { readonly type: Type }> => event.type === type);
  }

  /** Steps and transactions, in the order of their first entry. */
  get steps(): readonly JournalStep[] {
    const steps = new Map<string, JournalStep>();
    for (const event of this.of("step")) {
      const { name, key, state } = event;
      const id = JSON.stringify([name, key]);
      const attempts = (steps.get(id)?.attempts ?? 0) + (state === "begun" ? 0 : 1);
      const made = { name, key, attempts };
      if (state === "done") steps.set(id, { ...made, state, value: event.value });
      else if (state === "failed") steps.set(id, { ...made, state, error: event.error });
      else steps.set(id, { ...made, state: "running", ...(state === "tried" && { error: event.error }) });
    }
    return [...steps.values()];
  }

  /** The nth step of that name; undefined when the run has not made it. */
  step(name: string, nth = 1): JournalStep | undefined {
    return this.steps.filter((step) => step.name === name)[nth - 1];
  }

  /** Throws unless exactly these steps were done, in this order. */
  expectSteps(...names: readonly string[]): void {
    const done = this.steps.filter(({ state }) => state === "done").map(({ name }) => name);
    if (done.join("\n") === names.join("\n")) return;
    throw new JournalDiffers(`Expected the steps ${names.join(", ")}; done: ${done.join(", ") || "none"}.\n${this}`);
  }

  /** A line for each event, for people. */
  toString(): string {
    return this.events.map((event) => `${String(event.seq).padStart(4)} ${lineOf(event)}`).join("\n");
  }
}

function lineOf(event: RunEvent): string {
  switch (event.type) {
    case "step":
      return `step ${event.name} ${event.state}${"error" in event ? `: ${event.error.message}` : ""}`;
    case "waiting":
      return `waits for ${event.on} ${event.name}`;
    case "received":
      return `received ${event.name}`;
    case "released":
      return `released as ${event.as}`;
    case "ended":
      return event.state;
    case "recorded":
      return `${event.kind} ${event.name}`;
    default:
      return "name" in event ? `${event.type} ${String(event.name)}` : event.type;
  }
}
