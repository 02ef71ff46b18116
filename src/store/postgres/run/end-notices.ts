// What the statement that ends a run also writes: it closes unread messages and sends a message to the parent.

import type { Dialect } from "../connection/dialect.js";
import { oneOf } from "../connection/rowset.js";
import { ENDED } from "./ended-states.js";

/**
 * CTEs to follow one named `ended` with the columns run_id, parent_id, state, counted. Closing the messages keeps the index of
 * unread ones as small as the live inboxes. The parent is woken afterwards, in a statement of its own (wake-runs.ts): here we
 * only insert, so that no commit waits for a parent's row. Of a task that is counted, the parent gets a message only when it failed.
 * A later generation ends under a key of its own: the parent was notified of the earlier end, and of this one, too.
 */
export function endNotices({ schema: s, now }: Dialect): string {
  return `closed as (
  update ${s}.inbox i set taken_seq = 0 where i.run_id = any(array(select run_id from ended)) and i.taken_seq is null
), notified as (
  insert into ${s}.inbox (run_id, key, message_id, kind, name, sender, at)
  select e.parent_id, 'child:' || e.run_id || coalesce(
    (select ':' || c.generation from ${s}.runs c where c.id = e.run_id and c.generation > 0), ''), e.run_id, 'child', e.state, e.run_id::text, ${now}
  from ended e cross join lateral (select state from ${s}.runs p where p.id = e.parent_id limit 1) p
  where e.parent_id is not null and p.state not in ${ENDED} and not ${oneOf("e.parent_id", "select run_id from ended")}
    and (not e.counted or e.state in ('failed', 'dead'))
  on conflict do nothing
  returning run_id
)`;
}
