// An encoded value: opaque to the store. The codec's name is stored beside it.

export interface Payload {
  readonly codec: string;
  readonly data: string;
}
