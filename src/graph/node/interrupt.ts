// `ctx.interrupt(question)`: asks a person inside a node's function. The function ends, the run parks, and the function is called again
// with the answer: what comes before the question runs again.

import { payloadHash } from "../../kernel/codec/canonical.js";
import { type Duration, toMs } from "../../kernel/duration.js";
import { InvalidInput } from "../../kernel/error.js";
import type { Schema } from "../../program/schema.js";
import { ANSWERED, type Answer, ApprovalCall, checkQuestion, type Question } from "../../replay/approval-call.js";
import { Interrupted } from "../../replay/interrupted.js";
import { callId } from "../../replay/recorded.js";
import type { StepInfo } from "../../replay/step-call.js";
import type { AttemptRules } from "../attempt-rules.js";
import type { Keeping, NodeVisit, RunParts, Walker } from "../node-visit.js";
import type { NodePlace } from "../position.js";
import type { Spending } from "../spending.js";
import type { AskOptions } from "./question.js";

/** What all of them come to. */
type AnyAsk = AskOptions & {
  readonly choices?: readonly string[];
  readonly answer?: Schema;
  readonly timeout?: Duration | undefined;
  readonly default?: string;
};

interface Asked {
  readonly question: Question;
  readonly timeoutMs: number | null;
}

/** The questions of one visit: the nth that the function asks has the nth answer. */
export class Questions {
  readonly #answers: { readonly question: Question; readonly answer: Answer }[] = [];
  #asked = 0;
  #open: Asked | null = null;

  get answered(): number {
    return this.#answers.length;
  }

  /** The question that the last call of the function ended with. */
  get open(): Asked | null {
    return this.#open;
  }

  /** The function is called from its start. */
  restart(): void {
    this.#asked = 0;
    this.#open = null;
  }

  take(question: Question, answer: Answer): void {
    this.#answers.push({ question, answer });
  }

  /** A refused answer, or one to another plan, is asked for again: as the next question, which says so. */
  async ask(given: string | AnyAsk, title: string): Promise<unknown> {
    const ask: AnyAsk = typeof given === "string" ? { ask: given } : given;
    const asked = askedOf(ask);
    for (let problem = ""; ; ) {
      const known = this.#answers[this.#asked++];
      if (!known) {
        const question = problem === "" ? asked.question : { ...asked.question, ask: `${ask.ask}\n${problem}` };
        this.#open ??= { ...asked, question };
        throw new Interrupted(title);
      }
      const changed = changeOf(known.question, asked.question);
      if (changed) {
        problem = `The ${changed} changed since the last answer.`;
        continue;
      }
      const { answer } = known;
      if (ask.choices) return answer;
      const { data } = answer as { readonly data?: unknown };
      if (!ask.answer || answer.outcome !== ANSWERED) return data;
      const parsed = await ask.answer["~standard"].validate(data);
      if (!parsed.issues) return parsed.value;
      problem = `The last answer was refused: ${parsed.issues.map(({ message }) => message).join("; ")}`;
    }
  }
}

/** What an answer is bound to, and is another now. The wording of a question may change. */
function changeOf(before: Question, now: Question): string | null {
  if (payloadHash(before.plan ?? null) !== payloadHash(now.plan ?? null)) return "plan has";
  return payloadHash(before.choices) !== payloadHash(now.choices) ? "choices have" : null;
}

/** Also refuses a question that could not be answered, before anything is asked. */
function askedOf({ ask, choices = [ANSWERED], plan, timeout, ...rest }: AnyAsk): Asked {
  const [to, otherwise] = [rest.to ?? null, rest.default ?? null];
  if (typeof ask !== "string" || ask === "") throw new InvalidInput("interrupt.ask", "must be a text");
  checkQuestion({ choices, otherwise }, "interrupt");
  const question = { ask, choices, to, otherwise, ...(plan !== undefined && { plan }) };
  return { question, timeoutMs: timeout === undefined ? null : toMs(timeout, "timeout of an interrupt") };
}

export interface Tools {
  readonly spending: Spending;
  readonly questions: Questions;
  readonly keeping: Keeping;
}

type Work<T> = (info: StepInfo, tools: Tools) => Promise<T>;

/** One durable call whose function may ask questions on its way. */
export async function askingCall<T>(
  run: Walker,
  kind: "node" | "item",
  { nodeVisit, rules }: { readonly nodeVisit: NodeVisit; readonly rules: AttemptRules },
  work: Work<T>,
): Promise<T> {
  const { parts } = run;
  const { place } = nodeVisit;
  const questions = new Questions();
  // Asked before this session: the function is not called to ask them once more.
  for (let known = asked(parts, place, 1); known; known = asked(parts, place, questions.answered + 1))
    await answer(parts, place, questions, known);
  for (let failures: number | undefined; ; ) {
    try {
      return await run.call(kind, nodeVisit, { ...rules, failures }, async (info, spending, keeping) => {
        questions.restart();
        try {
          return await work(info, { spending, questions, keeping });
        } finally {
          await parts.stream.flush();
          // Also when the function has caught it: without the answer, its result is not the node's.
          if (questions.open) {
            await writeBefore(parts, place, spending);
            // biome-ignore lint/correctness/noUnsafeFinally: it replaces whatever the function ended with
            throw new Interrupted(place.path);
          }
        }
      });
    } catch (error) {
      if (!(error instanceof Interrupted) || !questions.open) throw error;
      failures = error.failures;
    }
    await answer(parts, place, questions, questions.open);
  }
}

/** What the function has spent counts, although it has no entry. */
async function writeBefore({ replay, beginning, codecs }: RunParts, place: NodePlace, spending: Spending) {
  const effects = [...beginning.take(), ...spending.effects(place, codecs)];
  if (effects.length > 0) await replay.session.commit(effects);
}

async function answer(
  { replay, codecs }: RunParts,
  place: NodePlace,
  questions: Questions,
  { question, timeoutMs }: Asked,
): Promise<void> {
  const name = place.path;
  const key = gateOf(place, questions.answered + 1);
  const id = callId("approval", name, key);
  const given = await new Promise<Answer>((resolve, reject) => {
    replay.ask(new ApprovalCall({ id, name, key, question, timeoutMs, replay, codecs, resolve, reject }));
  });
  questions.take(question, given);
}

function asked({ replay, codecs }: RunParts, place: NodePlace, nth: number): Asked | null {
  const begun = replay.recorded.begun.get(callId("approval", place.path, gateOf(place, nth)));
  if (!begun) return null;
  const { timeoutMs, ...question } = codecs.decode(begun.payload!) as Question & { readonly timeoutMs: number | null };
  return { question, timeoutMs };
}

/** The first question of a visit has its number, like an approval; the second is `1.q2`. */
function gateOf({ visit }: NodePlace, nth: number): string {
  return nth === 1 ? visit : `${visit}.q${nth}`;
}
