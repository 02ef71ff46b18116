// `npm run bench -- everyday`: what people and applications ask of a store with a million ended runs.

import { benchFind, fullStore } from "./everyday-find.js";
import { benchPrune } from "./everyday-prune.js";
import { benchSmall } from "./everyday-small.js";
import type { PartOptions } from "./parts.js";

export async function benchEveryday(url: string, options: PartOptions) {
  const small = await benchSmall(options);
  const full = await fullStore(url, options);
  const find = await benchFind(full, options);
  const prune = await benchPrune(url, full, options);
  await full.store.close();
  await full.pool.query(`drop schema ${full.schema} cascade`);
  await full.pool.end();
  return { ok: small.ok && find.ok && prune.ok, small, find, prune };
}
