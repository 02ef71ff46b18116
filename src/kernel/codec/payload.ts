// An encoded value, opaque to the store, with the name of its codec.

/** A value as it is stored. */
export interface Payload {
  /** The name of the codec that wrote it. */
  readonly codec: string;
  /** The text that the codec wrote. */
  readonly data: string;
}
