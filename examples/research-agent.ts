// An agent that plans, searches, asks a person and writes, token by token. Its process is killed in the middle; another one continues.
// Then a person edits its state, answers it, and goes back in time.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createNode } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { append, graph, type NodeContext, state } from "holdfast/graph";
import { postgres } from "holdfast/postgres";
import { z } from "zod";

interface Research {
  readonly question: string;
  readonly queries: readonly string[];
  readonly findings: readonly string[];
  readonly text: string;
}
const S = state<Research>({ findings: append() });
const Wish = z.object({ tone: z.enum(["dry", "warm"]) });

export const research = graph("research", {
  state: S,
  init: (question: string) => ({ question, queries: [], findings: [], text: "" }),
  start: "plan",
  nodes: {
    plan: async (ctx, s) => ({ queries: (await model(ctx, `queries for: ${s.question}`)).split(" + ") }),
    search: S.map((s) => s.queries, searchOne, { into: "findings", limit: 1, retry: 5, timeout: "30s" }),
    write: S.node({ retry: 3 }, async (ctx, s) => {
      const { tone } = await ctx.interrupt({
        ask: `${s.findings.length} findings on ${s.question}. Which tone?`,
        answer: Wish,
      });
      return { text: await model(ctx, `write ${tone}: ${s.findings.join(", ")}`) };
    }),
  },
  edges: { plan: "search", search: "write", write: "end" },
  limits: { iterations: 20, timeout: "3d", budgets: { tokens: 10_000 } },
  output: (s) => s.text,
});

/** A tool: one search. The second one takes the first process down. */
async function searchOne(ctx: NodeContext, query: string): Promise<string> {
  if (query === "pots" && process.argv[2]) process.kill(process.pid, "SIGKILL");
  console.log(`search ${query}`);
  await ctx.progress(`searched ${query}`);
  return `all about ${query}`;
}

/** Represents a language model: it streams its answer. */
async function model(ctx: NodeContext, prompt: string): Promise<string> {
  ctx.spend("tokens", prompt.length);
  const answer = prompt.startsWith("queries") ? "leaves + pots" : `An essay, ${prompt.slice(6)}.`;
  for (const token of answer.split(/(?<= )/)) ctx.write(token);
  return answer;
}

if (process.argv[2]) {
  // The first process: it is killed while it searches.
  const node = await createNode({ store: postgres(process.argv[2]), programs: [research] });
  await (await node.start(research, "tea", { key: "tea" })).result();
}
await using server = await startEmbedded({ onNotice: () => {} });
await postgres(server.url).migrate();
const first = fork(fileURLToPath(import.meta.url), [server.url]);
console.log("first process:", (await once(first, "exit"))[1]);

// A node that has just started waits before it reclaims anything, by default for one lease; no other node is alive here.
await using node = await createNode({ store: postgres(server.url), programs: [research] });
const run = await node.start(research, "tea", { key: "tea" }); // the same key: the same run
for await (const event of run.watch()) {
  if (event.type !== "waiting" || event.on !== "approval") continue;
  const { position, state: now } = await node.graphs.state(research, run.id);
  console.log("waits at", position, "with", now.findings.length, "findings");
  await run.decide("write", { by: "ann", data: { tone: "dry" } });
}

let text = "";
for await (const event of node.graphs.stream(research, run.id, { modes: ["tokens"] })) {
  if (event.node === "write") text += event.text;
}
console.log(text === (await run.result()), text);

// Time travel: the same run again from its writing, with another finding; and another run from its plan.
const why = "the index was stale";
await node.graphs.rewind(research, run.id, { to: "write", by: "ann", why, state: { findings: ["cups"] } });
await decided(run.id, "2", "warm");
console.log(await run.result());
const other = await node.graphs.fork(research, run.id, { from: "search", state: { queries: ["clay"] } });
await decided(other.id, "1", "dry");
console.log(await other.result());
const { common } = await node.graphs.diff(run.id, other.id);
console.log("the same up to", (await node.graphs.history(run.id))[common - 1]?.position);

/** A person who answers as soon as the question is there. */
async function decided(runId: string, nth: string, tone: string): Promise<void> {
  for await (const event of node.run(runId).watch()) {
    if (event.type !== "waiting" || event.on !== "approval") continue;
    const { rows } = await node.approvals.list();
    const asked = rows.find((one) => one.runId === runId && one.nth === nth);
    if (asked) return node.approvals.decide(asked, { by: "ann", data: { tone } });
  }
}
