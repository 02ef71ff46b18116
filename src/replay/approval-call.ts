// An approval: a question to a person, bound to what was shown. One decision counts; the timeout competes for the same
// inbox key.

import { payloadHash } from "../kernel/codec/canonical.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { Cancelled } from "./cancellation.js";
import { waitKey } from "./recorded.js";
import { type CallOptions, RecordedCall } from "./recorded-call.js";

/** The only choice of a question without choices: the answer is in the decision's data. */
export const ANSWERED = "answered";

/** The question as shown to the person who decides. */
export interface Question {
  readonly ask: string;
  readonly choices: readonly string[];
  readonly to: string | null;
  readonly plan?: unknown;
  /** The choice that counts on timeout. */
  readonly otherwise: string | null;
}

/**
 * Throws before anything is asked: a question without choices, or with a default that is not among them, cannot be
 * answered.
 */
export function checkQuestion({ choices, otherwise }: Pick<Question, "choices" | "otherwise">, path: string): void {
  const isText = Array.isArray(choices) && choices.every((one) => typeof one === "string" && one !== "");
  if (!isText || choices.length === 0)
    throw new InvalidInput(`${path}.choices`, "must be a list of strings with at least one element");
  if (otherwise !== null && !choices.includes(otherwise))
    throw new InvalidInput(`${path}.default`, `${JSON.stringify(otherwise)} must be one of ${choices.join(", ")}`);
}

export interface DecisionPayload {
  readonly choice: string;
  readonly by: string;
  readonly note: string | null;
  readonly data?: unknown;
}

/** `by` is null when the default counted after the timeout. */
export type Answer =
  | { readonly outcome: string; readonly by: string | null; readonly note: string | null; readonly data?: unknown }
  | { readonly outcome: "expired" };

/** The approval was decided before it was asked, with a choice it does not offer. */
export class DecisionInvalid extends HoldfastError {
  readonly code = "DECISION_INVALID";

  constructor(title: string, { choice, by }: DecisionPayload, choices: readonly string[]) {
    super(`${title} was decided ${JSON.stringify(choice)} by ${by}; the choices are ${choices.join(", ")}.`);
  }
}

export interface ApprovalCallOptions extends CallOptions {
  readonly question: Question;
  readonly timeoutMs: number | null;
  /** `messageKey`: the key of the message with the decision. */
  readonly resolve: (answer: Answer, messageKey: string) => void;
}

export class ApprovalCall extends RecordedCall<ApprovalCallOptions> {
  get title(): string {
    return `approval ${JSON.stringify(this.options.name)}`;
  }

  /** Records the question with a hash of its content, for those who decide and those who audit. */
  start(): void {
    this.started = true;
    const { replay, codecs, id, question, timeoutMs } = this.options;
    const begun = replay.recorded.begun.get(id);
    if (begun) {
      this.#arm(begun.at);
      return;
    }
    const payload = codecs.encode({ ...question, timeoutMs, hash: payloadHash(question) });
    this.whileRunning(this.write("approval.begun", payload), ({ at }) => this.#arm(at));
  }

  /**
   * Sends the timeout to the run's own inbox, under the decision's key: the inbox accepts only the first of the two.
   */
  expire(): void {
    const { replay, name, key } = this.options;
    this.deadline = null;
    this.whileRunning(replay.session.sendTimeout(waitKey(name, key, replay.session.run.baseSeq), name), () => {});
  }

  /** A question that lost its race is closed for those who decide, as if it had timed out. */
  protected override stopOutside(error: Error): Promise<void> | null {
    const { replay, id, name, key } = this.options;
    const inboxKey = waitKey(name, key, replay.session.run.baseSeq);
    const isAsked = this.started || replay.recorded.begun.has(id);
    if (!isAsked || error instanceof Cancelled || replay.messageOf(inboxKey)) return null;
    const closing = replay.session.sendTimeout(inboxKey, name);
    this.whileRunning(closing, () => {});
    return closing;
  }

  deliver({ key, payload }: JournalEntry): void {
    const { codecs, resolve, reject, question } = this.options;
    const { choices, otherwise } = question;
    const decision = payload ? (codecs.decode(payload) as DecisionPayload) : null;
    if (decision && !choices.includes(decision.choice)) reject(new DecisionInvalid(this.title, decision, choices));
    else if (decision) resolve(answerOf(decision), key!);
    else resolve(otherwise === null ? { outcome: "expired" } : { outcome: otherwise, by: null, note: null }, key!);
  }

  #arm(begunAt: number): void {
    const { timeoutMs } = this.options;
    if (timeoutMs !== null) this.deadline = begunAt + timeoutMs;
  }
}

function answerOf({ choice, by, note, data }: DecisionPayload): Answer {
  return { outcome: choice, by, note, ...(data !== undefined && { data }) };
}
