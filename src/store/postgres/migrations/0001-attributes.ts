// Search attributes of runs, and the values that a run shows under a name.

import type { Dialect } from "../connection/dialect.js";

export const attributes = ({ schema: s }: Dialect) => `
-- In a separate table, because few runs have any. The value is JSON text; the second index lists the runs of a group by attribute.
create table ${s}.run_attributes (
  run_id       uuid not null,
  name         text collate "C" not null,
  value        text collate "C" not null,
  claim_group  int not null,
  primary key (run_id, name)
);
create index run_attributes_value on ${s}.run_attributes (claim_group, name, value, run_id);

-- The last value under a name is found without reading the journal. Other entries are not in this index.
create index journal_set on ${s}.journal (run_id, name, seq) where kind = 'set';
`;
