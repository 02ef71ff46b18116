// The programs of the sample app: one or more of each kind, with steps that take about a second.

import { actor } from "../../actor/actor.js";
import { expectation } from "../../actor/expectation.js";
import { strategy } from "../../actor/strategy.js";
import { dag } from "../../dag/dag.js";
import { each, task } from "../../dag/task.js";
import { graph } from "../../graph/graph.js";
import { append } from "../../graph/reducer.js";
import { state } from "../../graph/state.js";
import { event, every, manual, on, PermanentError, workflow } from "../../index.js";
import { systemWorld } from "../../kernel/system-world.js";
import { sleep } from "../../kernel/world.js";

const world = systemWorld();

/** Represents a call to another system. */
async function work(ms: number): Promise<void> {
  await sleep(world, ms * (0.8 + 0.4 * world.random()));
}

interface Order {
  readonly id: string;
  readonly cents: number;
  /** How long each of its steps takes: time to kill its node. Default: less than one. */
  readonly seconds?: number;
}

export const order = workflow("order", async (ctx, input: Order) => {
  const ms = (usual: number) => (input.seconds === undefined ? usual : input.seconds * 1000);
  const receipt = await ctx.step("charge", async ({ idempotencyKey }) => {
    await work(ms(700));
    return { cents: input.cents, idempotencyKey };
  });
  await ctx.step("pack", () => work(ms(900)));
  const plan = { carrier: "post", parcels: 1 };
  const answer = await ctx.approval("ship", { ask: `Ship ${input.id}?`, plan, to: "warehouse", timeout: "1h" });
  if (answer.outcome !== "approved") return { receipt, shipped: false };
  await ctx.sleep("cool off", "300ms");
  await ctx.step("ship", () => work(ms(500)));
  return { receipt, shipped: true };
});

/** The template is uploaded a few seconds too late: a retry by hand succeeds. */
const TEMPLATE_LATE_MS = 4_000;

export const invoice = workflow("invoice", async (ctx, input: { id: string; orderedAt: number }) => {
  await ctx.step("render", async () => {
    await work(300);
    const isLate = world.wallNow() - input.orderedAt < TEMPLATE_LATE_MS;
    if (isLate) throw new PermanentError("TEMPLATE_MISSING: there is no template letter-2031 yet");
  });
  return ctx.step("send", () => work(300));
});

export const report = workflow("report", { on: [every("1m")] }, async (ctx, { window }) => {
  await ctx.step("count", () => work(400));
  return `the report of ${window}`;
});

interface Day {
  readonly day: string;
  readonly files: number;
}

const extract = task(async (_ctx, { day, files }: Day) => {
  await work(800);
  return Array.from({ length: files }, (_, i) => `${day}/${i + 1}.csv`);
});
const lengths = each(
  { needs: { extract }, over: ({ extract: files }) => files, parallel: 4 },
  async (_ctx, file: string) => {
    await work(700);
    return file.length;
  },
);
const audit = task({ needs: { extract } }, async (ctx, { extract: files }) =>
  ctx.step("count", async () => {
    await work(1_200);
    return files.length;
  }),
);
const publish = task({ needs: { lengths, audit } }, async (_ctx, { lengths: all, audit: files }) => {
  await work(600);
  return `${files} files, ${all.reduce((a, b) => a + b, 0)} characters`;
});
export const etl = dag("etl", { extract, lengths, audit, publish });

interface Research {
  readonly question: string;
  readonly queries: readonly string[];
  readonly findings: readonly string[];
  readonly approved: boolean;
  readonly text: string;
}
const S = state<Research>({ findings: append() });

export const research = graph("research", {
  state: S,
  init: (question: string) => ({ question, queries: [], findings: [], approved: false, text: "" }),
  start: "plan",
  nodes: {
    plan: async (ctx, s) => {
      await work(500);
      ctx.spend("tokens", 120);
      return { queries: [`${s.question} history`, `${s.question} today`, `${s.question} ${s.findings.length}`] };
    },
    search: S.map(
      (s) => s.queries,
      async (_ctx, query: string) => {
        await work(600);
        return `all about ${query}`;
      },
      { into: "findings", limit: 2 },
    ),
    review: S.approval({
      ask: (s) => `${s.findings.length} findings on "${s.question}". Write it?`,
      to: "editor",
      timeout: "1h",
      apply: (_s, decision) => ({ approved: decision.outcome === "approved" }),
    }),
    write: async (ctx, s) => {
      await work(700);
      ctx.spend("tokens", 900);
      return { text: `An essay on ${s.question}, from ${s.findings.length} findings.` };
    },
  },
  edges: {
    plan: "search",
    search: "review",
    review: { to: ["write", "plan"], choose: (s) => (s.approved ? "write" : "plan") },
    write: "end",
  },
  limits: { iterations: 20, timeout: "1d", budgets: { tokens: 10_000 } },
  output: (s) => s.text,
});

export const resourceUpdated = event<{ kind: "disk" | "cpu"; resourceId: string; used: number }>()("resource.updated");

const advice = strategy({
  steps: {
    ask: async (_step, question: string) => {
      await work(500);
      return { answer: `${question}: clean up`, tokens: 40 };
    },
  },
  checkpoints: { version: 1 },
  init: (_step, input: { resourceId: string }) => ({ ...input, answers: [] as string[] }),
  next: (now) => {
    if (now.answers.length >= 2) return { do: "done", result: now.answers };
    return { do: "call", name: "ask", args: `${now.resourceId}, question ${now.answers.length + 1}` };
  },
  handle: (now, step, { spend }) => {
    if (step.did !== "call") return now;
    spend({ tokens: step.result.tokens });
    return { ...now, answers: [...now.answers, step.result.answer] };
  },
});

export const monitor = actor("monitor", {
  concurrency: 2,
  expectations: {
    check: expectation(
      {
        on: [on(resourceUpdated, { where: { kind: "disk" }, subject: "resourceId" }), manual<{ resourceId: string }>()],
        serial: "subject",
        circuitBreaker: { threshold: 5, halfOpenAfter: "1m" },
      },
      async (ctx) =>
        ctx.step("judge", async () => {
          await work(400);
          return "within its limit";
        }),
    ),
    advise: expectation({ budget: { turns: 5, tokens: 1_000, timeout: "1m" } }, advice),
  },
});

/** Machines need the package xstate; without it the sample has four kinds. */
export const payment = await import("./payment.js").then(
  (found) => found.payment,
  () => null,
);
