// `npm run bench -- everyday`: what people and applications ask of a store with a million ended runs.

import { benchFind } from "./everyday-find.js";
import type { PartOptions } from "./parts.js";

export async function benchEveryday(url: string, options: PartOptions) {
  const find = await benchFind(url, options);
  return { ok: find.ok, find };
}
