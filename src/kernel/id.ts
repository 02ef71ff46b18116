// UUIDv7: 48 bits of milliseconds, 12 bits of counter, 62 random bits. Ids made by one process sort in the
// order they were made, also within a millisecond and when the wall clock steps back.

const COUNTER_MAX = 0xfff;
const POOL_BYTES = 8192;

export function uuidv7(wallNow: () => number, drawBytes: (size: number) => Uint8Array): () => string {
  let lastMs = 0;
  let counter = 0;
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

    const time = Math.floor(lastMs).toString(16).padStart(12, "0");
    const variant = ((random[0]! & 0x3f) | 0x80).toString(16);
    let tail = "";
    for (let i = 1; i < 8; i++) tail += random[i]!.toString(16).padStart(2, "0");
    const middle = counter.toString(16).padStart(3, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${middle}-${variant}${tail.slice(0, 2)}-${tail.slice(2)}`;
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}
