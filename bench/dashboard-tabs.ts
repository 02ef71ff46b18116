// Open pages as the server sees them: a stream each, and the polls of the page, at their own moments.

import type pg from "pg";

const SECONDS = 20;
/** What the page of the nodes reads, how often, and which topics it follows; the rail reads the overview. */
const POLLS = [
  ["/nodes", 5_000],
  ["/takeovers?limit=50", 5_000],
  ["/overview", 15_000],
] as const;
const TOPICS = "nodes,inbox";

/** Statements that the server executes while no, one or fifty pages are open. */
export async function tabStatements(
  pool: pg.Pool,
  address: string,
): Promise<{ readonly none: number; readonly one: number; readonly fifty: number }> {
  const calls = async () => {
    const { rows } = await pool.query<{ calls: number }>(
      `select /* bench */ coalesce(sum(calls), 0)::float8 as calls from pg_stat_statements
       where toplevel and query not like '%/* bench */%'`,
    );
    return rows[0]!.calls;
  };
  const during = async (tabs: number, seconds: number) => {
    const stop = new AbortController();
    const open = Promise.all(Array.from({ length: tabs }, () => tab(address, stop.signal)));
    await wait(2_000);
    const before = await calls();
    await wait(seconds * 1000);
    const made = (await calls()) - before;
    stop.abort();
    await open;
    return made;
  };
  const none = await during(0, 10);
  const one = await during(1, SECONDS);
  // One caller has five streams at most: the pages of a browser share one, and so do these.
  const fifty = await during(50, SECONDS);
  return { none, one, fifty };
}

const wait = (ms: number) => new Promise<void>((next) => setTimeout(next, ms));

async function tab(address: string, signal: AbortSignal): Promise<void> {
  await wait(Math.random() * 1_500);
  const stream = fetch(`${address}api/v1/live?topics=${TOPICS}`, { signal })
    .then(async (response) => {
      for await (const _ of response.body!);
    })
    .catch(() => {});
  const polls = POLLS.map(async ([path, everyMs]) => {
    const headers = { "cache-control": `max-age=${Math.floor((everyMs * 0.9) / 1000)}` };
    while (!signal.aborted) {
      await fetch(`${address}api/v1${path}`, { headers, signal })
        .then((response) => response.text())
        .catch(() => {});
      await wait(everyMs);
    }
  });
  await Promise.all([stream, ...polls]);
}
