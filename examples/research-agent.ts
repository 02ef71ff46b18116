// An agent that plans, searches, asks a person and writes. Its process is killed in the middle; another one continues.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createNode } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { append, graph, type NodeContext, state } from "holdfast/graph";
import { postgres } from "holdfast/postgres";

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
    plan: async (ctx, s) => ({ queries: (await model(ctx, `queries for: ${s.question}`)).split(" + ") }),
    search: S.map((s) => s.queries, searchOne, { into: "findings", limit: 1, retry: 5, timeout: "30s" }),
    review: S.approval({
      ask: (s) => `${s.findings.length} findings on "${s.question}". Write it?`,
      timeout: "2d",
      apply: (_s, decision) => ({ approved: decision.outcome === "approved" }),
    }),
    write: S.node({ retry: 3 }, async (ctx, s) => ({ text: await model(ctx, `write about ${s.findings.join(", ")}`) })),
  },
  edges: {
    plan: "search",
    search: "review",
    review: { to: ["write", "plan"], choose: (s) => (s.approved ? "write" : "plan") },
    write: "end",
  },
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

/** Represents a language model. */
async function model(ctx: NodeContext, prompt: string): Promise<string> {
  ctx.spend("tokens", prompt.length);
  console.log(`model ${ctx.node}`);
  return prompt.startsWith("queries") ? "leaves + pots" : `An essay: ${prompt.slice(12)}.`;
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
  const { position } = await node.graphs.position(run.id);
  console.log("waits at", position);
  console.log(research.toMermaid({ position }).split("\n").at(-2));
  await run.decide("review", { choice: "approved", by: "ann" });
}
console.log(await run.result());
