// Maps a store back to its tables: for transactions and for snapshots.

import { InvalidInput } from "../../../kernel/error.js";
import type { Store } from "../../contract/store.js";
import type { Tables } from "./tables.js";

const openStores = new WeakMap<Store, Tables>();

export function rememberStore(store: Store, tables: Tables): void {
  openStores.set(store, tables);
}

export function tablesOf(store: Store): Tables {
  const tables = openStores.get(store);
  if (!tables) throw new InvalidInput("store", "is not a memory store; create one with memoryStore()");
  return tables;
}
