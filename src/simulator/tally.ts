// Counts what a simulation has shown, so that one can see whether the interesting things happen at all.

import type { Applied } from "./applied.js";

export class Tally {
  readonly counts: Record<string, number> = {};

  add(what: string, times = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + times;
  }

  applied(applied: Applied): void {
    if (applied.op === "claim") this.add("granted", applied.granted.length);
    else if (applied.op === "sweep") {
      this.add("reclaimed", applied.reclaimed.length);
      for (const { outcome } of applied.reclaimed) this.add(`reclaimed ${outcome}`);
    } else if (applied.op === "wake") this.add("woken", applied.count);
    else if (applied.op === "renew" || applied.op === "commit") {
      for (const { outcome } of applied.answers) this.add(`${applied.op} ${outcome}`);
    } else if (applied.op === "transact") this.add(`transact ${applied.answer.outcome}`);
    else if (applied.op === "review") for (const { outcome } of applied.reviewed) this.add(`review ${outcome}`);
    else if (applied.op === "settle") this.add(`settle ${applied.answer.outcome}`);
    else if (applied.op === "probe") this.add(`probe ${applied.taken ? "taken" : "refused"}`);
    else if (applied.op === "breakers") for (const { state } of applied.answers) this.add(`breaker ${state}`);
    else if (applied.op === "insert") for (const { outcome } of applied.answers) this.add(`insert ${outcome}`);
    else if (applied.op === "start") {
      for (const answer of applied.answers) {
        if (answer.outcome === "started") for (const { outcome } of answer.runs) this.add(`insert ${outcome}`);
        else this.add(`start ${answer.outcome}`);
      }
    } else if (applied.op === "retry") for (const { outcome } of applied.answers) this.add(`retry ${outcome}`);
    else if (applied.op === "clean") this.add("cleaned", applied.cleaned?.removed ?? 0);
    else this.add(applied.op);
    if (applied.op === "commit")
      this.add("misfit", applied.commits.filter(({ effects }) => effects.at(-1)?.kind === "misfit").length);
    if (applied.op === "commit" && applied.commits.some(({ effects }) => effects.at(-1)?.kind === "continue"))
      this.add("begun anew");
  }
}
