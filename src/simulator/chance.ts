// Randomness from a seed: the same seed, the same draws. Streams are split, so that a new draw in one does not shift
// the others.

export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A stream of its own, set off by a label. */
  split(label: string): Chance {
    let hash = 0x811c9dc5 ^ this.#state;
    for (let i = 0; i < label.length; i++) hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193);
    return new Chance(hash);
  }

  /** mulberry32: 32 bits of state, good enough to spread things. */
  uint32(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return (bits ^ (bits >>> 14)) >>> 0;
  }

  random(): number {
    return this.uint32() / 2 ** 32;
  }

  between(least: number, most: number): number {
    return least + this.random() * (most - least);
  }

  /** A whole number, both ends included. */
  int(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  happens(part: number): boolean {
    return this.random() < part;
  }

  one<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)]!;
  }

  /** One of them, each with its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    let left = this.random() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    return choices.at(-1)![1];
  }

  bytes(size: number): Uint8Array {
    const bytes = new Uint8Array(size);
    const words = new DataView(bytes.buffer);
    for (let at = 0; at + 4 <= size; at += 4) words.setUint32(at, this.uint32());
    return bytes;
  }

  uuid(): string {
    const hex = () => this.uint32().toString(16).padStart(8, "0");
    const [a, b, c, d] = [hex(), hex(), hex(), hex()];
    return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-a${c.slice(1, 4)}-${c.slice(4)}${d}`;
  }
}
