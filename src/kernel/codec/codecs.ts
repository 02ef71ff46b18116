// The codecs of a node: the first one writes, and each stored value is read by the codec it names.

import { HoldfastError, InvalidInput } from "../error.js";
import { codecName } from "../name.js";
import { type Codec, type Coder, PayloadCorrupt } from "./codec.js";
import { JSON_CODEC_NAME, jsonCodec } from "./json-codec.js";
import type { Payload } from "./payload.js";
import { codecOf } from "./trace-context.js";

/** The codecs of a node: the first one writes, and each stored value is read by the one it names. */
export interface Codecs extends Coder<Payload> {
  /** Writes new values. */
  readonly writer: Codec;
  /** The codec of that name, or UnknownCodec. */
  find(name: string): Codec;
}

/** A stored value names a codec that this node does not have. */
export class UnknownCodec extends HoldfastError {
  readonly code = "UNKNOWN_CODEC";
  /** The name that the stored value has. */
  readonly codec: string;

  constructor(codec: string, known: Iterable<string>) {
    super(
      `a stored value was written by the codec ${JSON.stringify(codec)}, which this node does not have ` +
        `(it has ${[...known].join(", ")}); add that codec to the node's list of codecs`,
    );
    this.codec = codec;
  }
}

/**
 * `json` is always included, so that rows from before another codec was added stay readable; list it to change its
 * limits.
 */
export function codecs(list: readonly Codec[] = []): Codecs {
  const byName = new Map<string, Codec>();
  for (const [index, codec] of list.entries()) {
    const path = `codecs[${index}]`;
    codecName(codec?.name, `${path}.name`);
    if (byName.has(codec.name)) throw new InvalidInput(path, `a second codec is named ${JSON.stringify(codec.name)}`);
    byName.set(codec.name, codec);
  }
  if (!byName.has(JSON_CODEC_NAME)) byName.set(JSON_CODEC_NAME, jsonCodec());
  const writer = list[0] ?? byName.get(JSON_CODEC_NAME)!;

  function find(name: string): Codec {
    const codec = byName.get(name);
    if (codec === undefined) throw new UnknownCodec(name, byName.keys());
    return codec;
  }
  return {
    writer,
    find,
    encode: (value, path = "value") => ({ codec: writer.name, data: encodeWith(writer, value, path) }),
    decode: (payload) => decodeWith(find(codecOf(payload.codec)), payload.data),
  };
}

const UNSTORABLE = /[\0\p{Surrogate}]/u;

/** A user's codec may return anything, and PostgreSQL would reject the whole batch because of one bad text. */
function encodeWith(codec: Codec, value: unknown, path: string): string {
  const text: unknown = codec.encode(value, path);
  if (typeof text !== "string") {
    throw new InvalidInput(
      path,
      `the codec ${codec.name} did not return a string; encode must be synchronous and return text`,
    );
  }
  if (codec.name !== JSON_CODEC_NAME && UNSTORABLE.test(text)) {
    throw new InvalidInput(
      path,
      `the codec ${codec.name} returned text with a NUL or a lone surrogate, which PostgreSQL cannot store; use base64`,
    );
  }
  return text;
}

function decodeWith(codec: Codec, text: string): unknown {
  try {
    return codec.decode(text);
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    throw new PayloadCorrupt(`the codec ${codec.name} could not decode it`, { cause: error });
  }
}
