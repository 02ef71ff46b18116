// Instances of machines as a busy installation has them, and the hot statements on them.

import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Append, NewInstance, NewTold } from "../../../src/store/contract/machine/machines.js";
import {
  appendColumns,
  createColumns,
  sentColumns,
  unfitColumns,
} from "../../../src/store/postgres/machine/machine-columns.js";
import {
  appendInstances,
  createInstances,
  REFUSED,
  refusedAppends,
  TRIED,
  unfitParts,
  whoseInstances,
} from "../../../src/store/postgres/machine/machine-sql.js";
import { loadInstances, readEvents } from "../../../src/store/postgres/machine/machines.js";
import { claimTimers, SETTLEMENTS, sendToInstances, settleTimers } from "../../../src/store/postgres/machine/timers.js";
import type { Groups } from "../../../src/store/postgres/run/groups.js";
import { group, json, newRun } from "../scene.js";
import type { HotStatement } from "./planner-tables.js";

const INSTANCES = 20_000;

/** One that claims timers, and that is gone. */
const NODE = "00000000-0000-4000-8000-00000000bbbb";

export const MACHINE_TABLES = ["instances", "instance_events", "timers"];

/** Two events each; a timer each, of which a thousand are due. */
export async function fillMachines(pool: pg.Pool, s: string): Promise<void> {
  await pool.query(`insert into ${s}.instances (key, claim_group, id, input_hash, redact, created_at, seq, snapshot_seq, status, updated_at, value, codec, data)
    select md5('instance' || n)::uuid, 1 + n % 4, 'i' || n, 'h', '[]', now(), 2, 2, 'active', now(), '"a"', 'json', '{}'
    from generate_series(1, ${INSTANCES}) n`);
  await pool.query(`insert into ${s}.instance_events (instance, seq, token, kind, name, key, codec, data, at)
    select md5('instance' || n)::uuid, seq, md5('token')::uuid, 'event', 'GO', case when seq = 2 then 'old' end, 'json', '{}', now()
    from generate_series(1, ${INSTANCES}) n, generate_series(1, 2) seq`);
  await pool.query(`insert into ${s}.timers (id, instance, claim_group, generation, kind, name, codec, data, due_at, try_at)
    select md5('timer' || n)::uuid, md5('instance' || n)::uuid, 1 + n % 4, 2, 'after', 't', 'json', '{}', at, at
    from generate_series(1, ${INSTANCES}) n,
    lateral (select now() + case when n > ${INSTANCES} - 1000 then interval '-1 second' else interval '1 hour' end as at) x`);
}

export async function machineStatements(pool: pg.Pool, groups: Groups, batch: number): Promise<HotStatement[]> {
  const ids = async (kind: string) => {
    const { rows } = await pool.query<{ id: string }>(
      `select md5('${kind}' || n)::uuid as id from generate_series(1, ${batch}) n`,
    );
    return rows.map(({ id }) => id);
  };
  const [keys, timers] = [await ids("instance"), await ids("timer")];
  const of = group("q1");
  const event = { kind: "event", name: "GO", key: "new", payload: json(1), by: null } as const;
  const timer = { generation: 3, kind: "after", name: "t", payload: json(1), delayMs: 1000 } as const;
  const told = (instanceKey: string): NewTold => ({
    ...{ id: randomUUID(), generation: 0, instanceKey, group: of, name: "HI", payload: json(1), delayMs: 0 },
  });
  const changes = keys.map(
    (key, i): Append => ({
      ...{ token: randomUUID(), events: [event], status: "active", value: '"b"', version: null, snapshot: json(1) },
      ...{ timers: [{ ...timer, id: randomUUID() }], told: [told(key)], effects: [newRun()] },
      ...{ key, group: of, expectedSeq: 2, fired: [{ id: timers[i]!, generation: 2 }], cancelled: [] },
    }),
  );
  const made = changes.map(
    ({ fired: _, cancelled: __, expectedSeq: ___, ...change }): NewInstance => ({
      ...change,
      ...{ key: randomUUID(), id: randomUUID(), inputHash: "h", redact: [], snapshot: json(1) },
    }),
  );
  const hot = (statement: HotStatement["statement"], values: unknown[], alsoReads = 0): HotStatement => {
    return { statement, values, alsoReads };
  };
  return [
    hot(createInstances, await createColumns(groups, made)),
    hot(appendInstances, await appendColumns(groups, changes)),
    hot(refusedAppends, REFUSED.arrays(changes)),
    hot(unfitParts, unfitColumns(changes.map((one) => ({ ...one, events: [{ ...event, key: "old" }] })))),
    hot(whoseInstances, TRIED.arrays(changes)),
    hot(loadInstances, [keys]),
    hot(readEvents, [keys[0], 0, 10]),
    hot(claimTimers, [[1, 2, 3, 4], batch, 1000, 10, NODE, [NODE]], 4 * batch),
    hot(
      settleTimers,
      SETTLEMENTS.arrays(
        timers.map((id) => ({ id, generation: 2, attempts: 0, as: "retry", delayMs: 1, problem: null })),
      ),
    ),
    hot(
      sendToInstances,
      await sentColumns(
        groups,
        keys.map((key, i) => ({ ord: i + 1, part: told(key) })),
      ),
    ),
  ];
}
