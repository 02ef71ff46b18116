// Counts what a simulation has covered, to see whether the interesting things happen at all.

import type { Reclaimed } from "../store/contract/claim/recovery.js";
import type { Applied } from "./applied.js";

export class Tally {
  readonly counts: Record<string, number> = {};

  add(what: string, times = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + times;
  }

  applied(applied: Applied): void {
    const verb = applied.op.slice(applied.op.indexOf(".") + 1);
    switch (applied.op) {
      case "runs.claim":
        this.add("granted", applied.answer.length);
        break;
      case "runs.reclaimExpired":
      case "runs.recover":
      case "reclaim":
        this.#reclaimed(applied.answer);
        break;
      case "nodes.register":
        this.#reclaimed(applied.answer.outcome === "registered" ? applied.answer.reclaimed : []);
        break;
      case "runs.wakeParked":
        this.add("woken", applied.answer);
        break;
      case "runs.commit":
        this.#ends(applied.args[0]);
        this.#each(verb, applied.answer);
        break;
      case "runs.renew":
      case "runs.insert":
      case "runs.retry":
        this.#each(verb, applied.answer);
        break;
      case "runs.reviewMisfits":
        this.#each("review", applied.answer);
        break;
      case "runs.transact":
        this.add(`transact ${applied.answer.outcome}`);
        break;
      case "events.settleDebounced":
        this.add(`settle ${applied.answer.outcome}`);
        break;
      case "events.start":
        for (const answer of applied.answer) {
          if (answer.outcome === "started") this.#each("insert", answer.runs);
          else this.add(`start ${answer.outcome}`);
        }
        break;
      case "schedules.fire":
        for (const answer of applied.answer) {
          if (answer.outcome === "fired") this.add("insert inserted", answer.runIds.length);
        }
        break;
      case "breakers.takeProbe":
        this.add(`probe ${applied.answer ? "taken" : "refused"}`);
        break;
      case "breakers.read":
        for (const { state } of applied.answer) this.add(`breaker ${state}`);
        break;
      case "cleanUp":
        this.add("cleaned", applied.answer?.removed ?? 0);
        if (applied.args[0].part === "runs") this.add("runs removed", applied.answer?.removed ?? 0);
        break;
      default:
        this.add(verb);
    }
  }

  #each(verb: string, answers: readonly { readonly outcome: string }[]): void {
    for (const { outcome } of answers) this.add(`${verb} ${outcome}`);
  }

  #reclaimed(reclaimed: readonly Reclaimed[]): void {
    this.add("reclaimed", reclaimed.length);
    this.#each("reclaimed", reclaimed);
  }

  #ends(commits: readonly { readonly effects: readonly { readonly kind: string }[] }[]): void {
    const last = commits.map(({ effects }) => effects.at(-1)?.kind);
    this.add("misfit", last.filter((kind) => kind === "misfit").length);
    if (last.includes("continue")) this.add("continued as new");
  }
}
