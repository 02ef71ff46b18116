// UUIDv7: 48 bits of milliseconds, 12 bits of counter, 62 random bits. Ids of one process sort in creation order, also
// within a millisecond and when the wall clock steps back.

const COUNTER_MAX = 0xfff;
const POOL_BYTES = 8192;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function uuidv7(wallNow: () => number, drawBytes: (size: number) => Uint8Array): () => string {
  let lastMs = 0;
  let counter = 0;
  let writtenMs = -1;
  let time = "";
  let pool: Uint8Array = new Uint8Array(0);
  let used = 0;

  return () => {
    const now = wallNow();
    if (now > lastMs) {
      lastMs = now;
      counter = 0;
    } else if (++counter > COUNTER_MAX) {
      lastMs++;
      counter = 0;
    }
    if (used + 8 > pool.length) {
      pool = drawBytes(POOL_BYTES);
      used = 0;
    }
    const random = pool.subarray(used, used + 8);
    used += 8;

    if (lastMs !== writtenMs) {
      const hex = Math.floor(lastMs).toString(16).padStart(12, "0");
      time = `${hex.slice(0, 8)}-${hex.slice(8)}-7`;
      writtenMs = lastMs;
    }
    const h = (i: number) => HEX[random[i]!]!;
    const variant = HEX[(random[0]! & 0x3f) | 0x80]!;
    const middle = HEX[counter >> 4]!.slice(-2) + HEX[counter & 0xf]!.slice(-1);
    return `${time}${middle}-${variant}${h(1)}-${h(2)}${h(3)}${h(4)}${h(5)}${h(6)}${h(7)}`;
  };
}

/** The lowest id that is made at this time. */
export function lowestId(ms: number): string {
  const hex = Math.floor(ms).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isUuid(text: unknown): text is string {
  return typeof text === "string" && UUID.test(text);
}
