// `holdfast leases`: named leases, their holders and until when they hold.

import { leasesIn } from "../../client/leases.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { LIMIT_OPTION, limitOf, moreText, WATCH_OPTION } from "../options.js";
import type { Colour } from "../text/paint.js";
import { listText } from "../text/table.js";
import { isoTime, timeAgo } from "../text/time-ago.js";

const COLOURS: Readonly<Record<string, Colour>> = { claimed: "green", expired: "red", done: "dim", failed: "red" };

const OPTIONS = { limit: LIMIT_OPTION, watch: WATCH_OPTION } as const satisfies Options;

export const leases = defineCommand({
  name: "leases",
  takes: ["[PREFIX]"],
  summary: "named leases and leaders: who holds them, until when",
  details: "PREFIX: only keys that begin with it. expired: the lease has ended and no other process has taken it.",
  options: OPTIONS,
  run: listLeases,
});

async function listLeases(call: Call<typeof OPTIONS>): Promise<Report> {
  const limit = limitOf(call.values);
  const [prefix] = call.arguments;
  const store = await call.store();
  const { rows, next } = await leasesIn(store, call.env).list({ limit, ...(prefix !== undefined && { prefix }) });
  const json = {
    leases: rows.map(({ leaseUntil, acquiredAt, finishedAt, ...rest }) => {
      return {
        ...rest,
        leaseUntil: isoTime(leaseUntil),
        acquiredAt: isoTime(acquiredAt),
        finishedAt: isoTime(finishedAt),
      };
    }),
    more: next !== null,
  };
  if (rows.length === 0) return { text: `No leases in env ${call.env}.\n`, json };
  const now = call.world.wallNow();
  const records = rows.map(({ key, state, owner, epoch, leaseUntil, finishedAt }) => ({
    KEY: key,
    STATE: { text: state, colour: COLOURS[state] },
    OWNER: owner,
    EPOCH: epoch,
    UNTIL: finishedAt === null ? timeAgo(leaseUntil, now) : `ended ${timeAgo(finishedAt, now)}`,
  }));
  return { text: listText(records, ["KEY", "OWNER"], call) + moreText(next, limit, call.paint), json };
}
