// The filters of runs as chips; the address holds them.

import { useState } from "preact/hooks";
import { clockTime } from "../draw/words.js";
import { type Chip, chipsOf, instantOf, RUN_FILTERS, type RunFilterName } from "../live/address.js";
import { now } from "../live/clock.js";
import { RUN_STATES } from "../live/model.js";
import { address, setQuery } from "../live/router.js";
import { Icon } from "./icon.js";

const QUICK: readonly (readonly [string, string])[] = [
  ["in progress", "waiting,running,parked,held,blocked,paused"],
  ["in trouble", "failed,dead,quarantined"],
];

export function RunFilters() {
  const { query } = address.value;
  const chips = chipsOf(query);
  return (
    <div class="chips filters" role="group" aria-label="Filters">
      {chips.map((chip) => (
        <FilterChip key={chip.name} chip={chip} />
      ))}
      {query["state"] === undefined &&
        QUICK.map(([label, state]) => (
          <button
            key={label}
            type="button"
            class="button"
            onClick={() => setQuery({ state, before: null }, { push: true })}
          >
            {label}
          </button>
        ))}
      <AddFilter taken={chips.map(({ name }) => name)} />
    </div>
  );
}

function FilterChip({ chip: { name, value } }: { readonly chip: Chip }) {
  const shown =
    name === "from" || name === "to"
      ? `${clockTime(Date.parse(value), { day: true })} UTC`
      : value.replaceAll(",", " or ");
  return (
    <span class="chip">
      <span class="cut">
        <span class="muted">{name}:</span> {shown}
      </span>
      <button
        type="button"
        aria-label={`Remove the filter ${name}`}
        onClick={() => setQuery({ [name]: null, before: null }, { push: true })}
      >
        <Icon name="close" size={12} />
      </button>
    </span>
  );
}

function AddFilter({ taken }: { readonly taken: readonly RunFilterName[] }) {
  const [name, setName] = useState<RunFilterName | null>(null);
  const [wrong, setWrong] = useState(false);
  const offered = RUN_FILTERS.filter((one) => !taken.includes(one));
  const add = (value: string) => {
    const isTime = name === "from" || name === "to";
    const written = isTime ? instantOf(value, now()) : value;
    if (written === null || written === "") return setWrong(true);
    setQuery({ [name as string]: written, before: null }, { push: true });
    setName(null);
  };
  if (name === null) {
    return (
      <select
        class="input"
        aria-label="Add a filter"
        value=""
        onChange={(event) => setName(event.currentTarget.value as RunFilterName)}
      >
        <option value="">+ filter</option>
        {offered.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    );
  }
  if (name === "state") {
    return (
      <select class="input" aria-label="State" value="" onChange={(event) => add(event.currentTarget.value)}>
        <option value="">state…</option>
        {RUN_STATES.map((state) => (
          <option key={state}>{state}</option>
        ))}
      </select>
    );
  }
  const submit = (event: Event) => {
    event.preventDefault();
    add(String(new FormData(event.currentTarget as HTMLFormElement).get("value") ?? "").trim());
  };
  return (
    <form class="chips" onSubmit={submit}>
      <input
        class="input"
        name="value"
        aria-label={name}
        aria-invalid={wrong}
        placeholder={name === "from" || name === "to" ? "-1h or 2026-11-17T18:00Z" : name}
        ref={(input) => input?.focus()}
        onKeyDown={(event) => event.key === "Escape" && setName(null)}
      />
      <button type="submit" class="button">
        Add
      </button>
    </form>
  );
}
