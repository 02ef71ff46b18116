// What callers of a cancel or a pause were promised: when they were answered, and when runs were retried, in virtual
// time.

export class Promises {
  readonly #answeredAt = new Map<string, number>();
  readonly #openedAt = new Map<string, number>();
  /** How many there were to keep. */
  count = 0;

  /** A resume or a failover (`disturbedAt`) voids what was promised. */
  answered(
    runId: string,
    when: { readonly askedAt: number; readonly now: number; readonly disturbedAt: number },
  ): void {
    const opened = this.#openedAt.get(runId) ?? -1;
    if (when.askedAt <= Math.max(opened, when.disturbedAt)) return;
    this.#answeredAt.set(runId, when.now);
    this.count++;
  }

  opened(runId: string, now: number): void {
    this.#openedAt.set(runId, now);
    this.#answeredAt.delete(runId);
  }

  clear(): void {
    this.#answeredAt.clear();
  }

  has(runId: string): boolean {
    return this.#answeredAt.has(runId);
  }
}
