// A hook that reads a route, keeps the last answer while it reads again, and reads again at intervals while the page is visible.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { RouteName } from "../../../src/admin/api.js";
import { ApiRefusal, type CallOptions, call } from "./api.js";
import { now } from "./clock.js";
import type { InputOf, OutputOf } from "./model.js";
import { env } from "./router.js";

export interface Loaded<T> {
  readonly data: T | null;
  readonly error: ApiRefusal | null;
  readonly loading: boolean;
  /** When the shown data was read, by the database's clock. */
  readonly at: number | null;
  readonly reload: () => void;
  /** Replaces the shown data: for patches of the stream. */
  readonly change: (change: (data: T) => T) => void;
}

interface Held<T> {
  readonly data: T;
  readonly at: number;
}

/** What pages showed last, so that going back shows it at once. */
const kept = new Map<string, Held<unknown>>();
const MOST_KEPT = 60;

export function useRoute<Name extends RouteName>(
  name: Name,
  input: InputOf<Name> | null,
  options: { readonly everyMs?: number } = {},
): Loaded<OutputOf<Name>> {
  const id = input === null ? null : `${name} ${env.value ?? ""} ${JSON.stringify(input)}`;
  const [, redraw] = useState(0);
  const [error, setError] = useState<ApiRefusal | null>(null);
  const [loading, setLoading] = useState(true);
  const latest = useRef(id);
  latest.current = id;

  const read = useCallback(
    async (how: CallOptions = {}) => {
      if (id === null || input === null) return;
      setLoading(true);
      try {
        keep(id, await call(name, input, how));
        if (latest.current === id) setError(null);
      } catch (problem) {
        if (problem instanceof DOMException) return;
        if (latest.current === id)
          setError(problem instanceof ApiRefusal ? problem : new ApiRefusal(0, { message: String(problem) }));
      }
      if (latest.current === id) setLoading(false);
      redraw((n) => n + 1);
    },
    [id],
  );

  useEffect(() => {
    const abort = new AbortController();
    setError(null);
    read({ signal: abort.signal });
    return () => abort.abort();
  }, [read]);
  useEffect(() => repeat(read, options.everyMs), [read, options.everyMs]);

  const held = id === null ? undefined : (kept.get(id) as Held<OutputOf<Name>> | undefined);
  return {
    data: held?.data ?? null,
    at: held?.at ?? null,
    error,
    loading,
    reload: () => void read(),
    change: (change) => {
      const current = id === null ? undefined : (kept.get(id) as Held<OutputOf<Name>> | undefined);
      if (id !== null && current !== undefined) keep(id, change(current.data));
      redraw((n) => n + 1);
    },
  };
}

function keep(id: string, data: unknown): void {
  kept.delete(id);
  kept.set(id, { data, at: now() });
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value as string);
}

/** Less than the interval: a page alone never gets its own last answer again. */
const ACCEPTED_SHARE = 0.9;

function repeat(read: (how: CallOptions) => Promise<void>, everyMs: number | undefined): (() => void) | undefined {
  if (everyMs === undefined) return undefined;
  const timer = setInterval(() => {
    if (document.visibilityState === "visible") void read({ maxAgeMs: everyMs * ACCEPTED_SHARE });
  }, everyMs);
  return () => clearInterval(timer);
}
