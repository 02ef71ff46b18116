// Counts the nodes that share work with one, as SQL.

import type { Dialect } from "../connection/dialect.js";
import { isLive } from "./presence-sql.js";

/** Live nodes of the same env that claim from a group that node `incarnation` claims from, itself included; given `here`. */
export const peersOf = ({ schema: s }: Dialect, incarnation: string, now: string) => `(
    select count(*)::int from ${s}.nodes n join ${s}.nodes m on m.incarnation = ${incarnation}
    where n.env = m.env and n.claims && m.claims and (n.incarnation = m.incarnation or ${isLive(now)}))`;
