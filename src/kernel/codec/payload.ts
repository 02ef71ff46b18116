// An encoded value, opaque to the store, with the name of its codec.

export interface Payload {
  readonly codec: string;
  readonly data: string;
}
