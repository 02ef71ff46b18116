// Follows one direction of a PostgreSQL connection message by message, however the bytes are cut.

/** Counts the ReadyForQuery messages of a server's byte stream. */
export class ServerStream {
  #headerBytes: number[] = [];
  #bodyLeft = 0;
  #loneBytes = 0;

  /** The answer to an SSLRequest is one byte outside of any message. */
  expectLoneByte(): void {
    this.#loneBytes++;
  }

  /** Returns how many ReadyForQuery messages end within this chunk. */
  push(chunk: Buffer): number {
    let ready = 0;
    let at = 0;
    while (at < chunk.length) {
      if (this.#loneBytes > 0) {
        this.#loneBytes--;
        at++;
      } else if (this.#headerBytes.length < 5) {
        this.#headerBytes.push(chunk[at++]!);
        if (this.#headerBytes.length === 5) this.#bodyLeft = Buffer.from(this.#headerBytes).readUInt32BE(1) - 4;
      } else {
        const taken = Math.min(this.#bodyLeft, chunk.length - at);
        this.#bodyLeft -= taken;
        at += taken;
      }
      if (this.#headerBytes.length === 5 && this.#bodyLeft === 0) {
        if (this.#headerBytes[0] === READY_FOR_QUERY) ready++;
        this.#headerBytes = [];
      }
    }
    return ready;
  }
}

const READY_FOR_QUERY = "Z".charCodeAt(0);
const SSL_REQUEST_CODE = 80877103;

export function isSslRequest(chunk: Buffer): boolean {
  return chunk.length === 8 && chunk.readUInt32BE(4) === SSL_REQUEST_CODE;
}
