// One emitted event in its stored form, as far as it can be computed without the store.

import { payloadHash } from "../kernel/codec/canonical.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { filterable } from "../kernel/contains.js";
import { InvalidInput } from "../kernel/error.js";
import { dedupeKey } from "../kernel/name.js";
import type { EventToStart } from "../store/contract/event/events.js";

export interface Occurrence extends EventToStart {
  /** The run's input, before it is encoded. */
  readonly value: object;
}

/** Where it is emitted, and the id drawn for it. */
type Place = Pick<EventToStart, "id" | "env" | "stack">;

/** `ownId`: the caller's identification of the event; otherwise its payload identifies it. */
export function occurrenceOf(
  event: string,
  payload: object,
  ownId: string | undefined,
  { codecs, ...place }: Place & { readonly codecs: Codecs },
): Occurrence {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
    throw new InvalidInput("payload", "must be an object");
  }
  const hash = payloadHash(payload, "payload");
  if (Object.hasOwn(payload, "type")) {
    throw new InvalidInput("payload.type", "is where a run finds the event's name; give the field another name");
  }
  const value = { type: event, ...payload };
  return {
    ...place,
    event,
    value,
    input: codecs.encode(value, "payload"),
    plain: JSON.stringify(filterable(payload)),
    key: ownId === undefined ? shortOf(hash) : dedupeKey(`id ${ownId}`, "id"),
    payloadHash: hash,
  };
}

/** The whole hash, written shorter than in hex, because every key is in an index. */
function shortOf(hash: string): string {
  return `sha256 ${Buffer.from(hash, "hex").toString("base64url")}`;
}
