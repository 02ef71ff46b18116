// The operations on timeouts that write, each on an instance of its own, to be done with and without a fault.

import { randomUUID } from "node:crypto";
import type { Store } from "../../../src/store/contract/store.js";
import type { TimeoutClaimRequest } from "../../../src/store/contract/timeout/timeouts.js";
import type { Operation } from "./unanswered-operation.js";

function onTimeout(act: (store: Store, claim: TimeoutClaimRequest) => Promise<unknown>, claimed = true) {
  const key = { env: "test", scope: "order", instance: randomUUID() };
  const generation = randomUUID();
  const claim = { ...key, generation, node: "me", token: randomUUID(), claimMs: 60_000 };
  return async (store: Store) => {
    const timeout = { ...key, generation, state: "pending", sequence: 1, keep: false };
    await store.timeouts.schedule({ ...timeout, deadline: { inMs: 0 } });
    if (claimed) await store.timeouts.claim([claim]);
    return () => act(store, claim);
  };
}

export function timeoutOperations(): Operation[] {
  const newGeneration = randomUUID();
  return [
    {
      name: "timeouts.schedule",
      statement: "schedule_timeout",
      prepare: onTimeout((store, { env, scope, instance }) =>
        store.timeouts.schedule({
          ...{ env, scope, instance, generation: newGeneration, state: "started", sequence: 2, keep: false },
          deadline: { inMs: 60_000 },
        }),
      ),
    },
    {
      name: "timeouts.cancel",
      statement: "cancel_timeout",
      answersWhatItDid: true,
      prepare: onTimeout((store, claim) => store.timeouts.cancel(claim)),
    },
    {
      name: "timeouts.claim",
      statement: "claim_timeouts",
      prepare: onTimeout((store, claim) => store.timeouts.claim([claim]), false),
    },
    {
      name: "timeouts.complete",
      statement: "complete_timeouts",
      answersWhatItDid: true,
      prepare: onTimeout((store, claim) => store.timeouts.complete([claim])),
    },
    {
      name: "timeouts.release",
      statement: "release_timeouts",
      prepare: onTimeout((store, claim) => store.timeouts.release([{ ...claim, retryInMs: 5_000, problem: "no" }])),
    },
    {
      name: "timeouts.release for good",
      statement: "release_timeouts",
      prepare: onTimeout((store, claim) => store.timeouts.release([{ ...claim, retryInMs: "never", problem: "no" }])),
    },
    {
      name: "timeouts.retry",
      statement: "retry_timeout",
      answersWhatItDid: true,
      prepare: onTimeout(async (store, claim) => {
        await store.timeouts.release([{ ...claim, retryInMs: "never", problem: "no" }]);
        return store.timeouts.retry(claim);
      }),
    },
  ];
}
