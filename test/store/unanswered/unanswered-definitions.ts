// The operations on definitions that are data, for the test of lost replies.

import type { Store } from "../../../src/store/contract/store.js";
import type { Operation } from "./unanswered-operation.js";

export function definitionOperations(): Operation[] {
  const of = { env: "test", kind: "actor", name: "watcher" } as const;
  const first = { ...of, body: '{"n":1}', by: "me", programs: ["watcher::watch"] };
  const on = (act: (store: Store) => Promise<unknown>) => async (store: Store) => {
    await store.definitions.save(first);
    return () => act(store);
  };
  const second = { ...first, body: '{"n":2}', expectedVersion: 1 };
  return [
    {
      name: "definitions.save, new",
      statement: "save_definition",
      prepare: async (store) => () => store.definitions.save(first),
    },
    {
      name: "definitions.save, over another",
      statement: "save_definition",
      prepare: on((store) => store.definitions.save(second)),
    },
    {
      name: "definitions.enable",
      statement: "enable_definition",
      prepare: on((store) => store.definitions.enable(of, false, "me")),
    },
    {
      name: "definitions.remove",
      statement: "remove_definition",
      prepare: on((store) => store.definitions.remove(of)),
    },
  ];
}
