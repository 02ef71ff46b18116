// The trace of a simulation: a running hash of everything that happened, and on request the lines themselves.

export class Trace {
  readonly lines: string[] = [];
  readonly #keep: boolean;
  #a = 0xdeadbeef;
  #b = 0x41c6ce57;

  constructor(keep: boolean) {
    this.#keep = keep;
  }

  add(at: number, line: string): void {
    const text = `${at.toFixed(3)} ${line}`;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      this.#a = Math.imul(this.#a ^ code, 2654435761);
      this.#b = Math.imul(this.#b ^ code, 1597334677);
    }
    if (this.#keep) this.lines.push(text);
  }

  get hash(): string {
    const hex = (n: number) => (n >>> 0).toString(16).padStart(8, "0");
    return hex(this.#a) + hex(this.#b);
  }
}
