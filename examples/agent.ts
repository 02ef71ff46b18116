// A support agent on the Vercel AI SDK: it looks up an order, asks a person before it refunds money, and answers token by token. Its
// process is killed in the middle of the refund; another one continues. No model call is repeated, and the money goes out once.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { APICallError, type ModelMessage, streamText, type ToolResultPart, type ToolSet } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { type Context, createNode, type Node, workflow } from "holdfast";
import { startEmbedded } from "holdfast/embedded";
import { graph, state } from "holdfast/graph";
import { postgres } from "holdfast/postgres";
import pg from "pg";
import { z } from "zod";

const Lookup = z.object({ order: z.string() });
const Refund = z.object({ order: z.string(), cents: z.number().int().positive() });
// Without `execute`: the model asks for them, and the workflow uses them.
const tools: ToolSet = {
  lookup: { description: "Finds an order.", inputSchema: Lookup },
  refund: { description: "Refunds money.", inputSchema: Refund },
};

interface Said {
  readonly text: string;
  readonly messages: readonly ModelMessage[];
  readonly calls: readonly { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }[];
  readonly tokens: number;
}
const S = state<{ readonly prompt: readonly ModelMessage[]; readonly said: Said | null }>();

// One call of the model is a run of its own: its limits hold for the whole cluster, and its tokens are streamed.
export const model = graph("model", {
  concurrency: 20,
  rate: { limit: 50, per: "1s" },
  state: S,
  init: (prompt: readonly ModelMessage[]) => ({ prompt, said: null }),
  start: "call",
  nodes: {
    call: S.node(
      { retry: { attempts: 6, delay: "200ms", maxDelay: "1m" }, retryIf: isPassing, timeout: "2m" },
      async (ctx, { prompt }) => {
        const answer = streamText({
          model: llm,
          messages: [...prompt],
          tools,
          maxRetries: 0, // Holdfast retries: its attempts survive a crash
          abortSignal: ctx.signal,
          onError: () => {},
        });
        for await (const part of answer.fullStream) {
          if (part.type === "text-delta") ctx.write(part.text);
          if (part.type === "error") throw part.error; // streamText itself never throws
        }
        const [text, { messages }, calls, { totalTokens: tokens = 0 }] = await Promise.all([
          answer.text,
          answer.response,
          answer.toolCalls,
          answer.usage,
        ]);
        // The SDK's objects have more than data; what is stored must be plain.
        return { said: JSON.parse(JSON.stringify({ text, messages, calls, tokens })) as Said };
      },
    ),
  },
  edges: { call: "end" },
  output: (s) => s.said!,
});

/** Overload and network trouble pass; a refused prompt does not. */
function isPassing(error: unknown): boolean {
  return !APICallError.isInstance(error) || error.isRetryable;
}

interface Task {
  readonly question: string;
  readonly mostTokens: number;
}

export const agent = workflow("agent", { timeout: "2d" }, async (ctx, { question, mostTokens }: Task) => {
  const messages: ModelMessage[] = [{ role: "user", content: question }];
  let tokens = 0;
  for (let call = 1; call <= 10; call++) {
    const said = await ctx.child(model, messages);
    tokens += said.tokens;
    messages.push(...said.messages);
    if (said.calls.length === 0) return { answer: said.text, tokens };
    if (tokens > mostTokens) return { answer: `Stopped after ${tokens} tokens.`, tokens };
    for (const asked of said.calls) messages.push({ role: "tool", content: [await use(ctx, asked)] });
  }
  return { answer: "Stopped after 10 calls of the model.", tokens };
});

/** A tool that only reads is a step. One that moves money asks first, and is a transaction. */
async function use(ctx: Context, { toolCallId, toolName, input }: Said["calls"][number]): Promise<ToolResultPart> {
  const result = (value: string): ToolResultPart => {
    return { type: "tool-result", toolCallId, toolName, output: { type: "text", value } };
  };
  const lookup = Lookup.safeParse(input);
  if (toolName === "lookup" && lookup.success) {
    return result(await ctx.step("lookup", { key: toolCallId }, () => found(lookup.data.order)));
  }
  const refund = Refund.safeParse(input);
  if (toolName !== "refund" || !refund.success) return result("There is no such tool, or its input is wrong.");
  const plan = refund.data;
  const { outcome } = await ctx.approval(`refund ${toolCallId}`, {
    ask: `Refund ${plan.cents} cents of ${plan.order}?`,
    plan, // the decision is bound to its hash, and the journal has it: what was approved is what is done
    to: "finance",
    timeout: "1d",
  });
  if (outcome !== "approved") return result(`A person refused: ${outcome}.`);
  await ctx.transaction("refund", { key: toolCallId }, async (tx) => {
    await tx.query("insert into refunds (order_id, cents) values ($1, $2)", [plan.order, plan.cents]);
    if (isFirst) process.kill(process.pid, "SIGKILL"); // the worst moment
  });
  return result("Done.");
}

/** Server-sent events for a browser: the tokens of every call of the model, in the order of the calls. From any process. */
function tokensOf(node: Node, runId: string): Response {
  const events = async function* () {
    for await (const event of node.run(runId).watch()) {
      if (event.type !== "waiting" || event.on !== "child") continue;
      for await (const { text } of node.graphs.stream(model, event.runId!, { modes: ["tokens"] })) {
        yield new TextEncoder().encode(`data: ${JSON.stringify(text)}\n\n`);
      }
    }
  };
  const headers = { "content-type": "text/event-stream", "cache-control": "no-store" };
  return new Response(ReadableStream.from(events()) as unknown as ReadableStream, { headers });
}

function found(order: string): string {
  console.log(`lookup ${order}`);
  return `${order}: a teapot, 300 cents, broken on arrival`;
}

/** A model that needs no key and no network. In your program: `openai("…")`, `anthropic("…")`. */
let refusals = 1;
const llm = new MockLanguageModelV3({
  doStream: async ({ prompt }) => {
    if (refusals-- > 0) {
      const request = { url: "https://model.example", requestBodyValues: {}, statusCode: 429 };
      throw new APICallError({ message: "Too many requests.", isRetryable: true, ...request });
    }
    const answers = prompt.filter(({ role }) => role === "tool").length;
    console.log(`model call ${answers + 1}`);
    const call = (toolName: string, input: object) => {
      return { type: "tool-call" as const, toolCallId: `call-${answers}`, toolName, input: JSON.stringify(input) };
    };
    const texts = [[], ["I will refund ", "this. "], ["You have ", "your money."]][answers]!;
    const calls = [[call("lookup", { order: "o-1" })], [call("refund", { order: "o-1", cents: 300 })], []][answers]!;
    const used = { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0, text: 100, reasoning: 0 };
    const chunks = [
      ...texts.flatMap((delta, i) => [
        ...(i === 0 ? [{ type: "text-start" as const, id: "1" }] : []),
        { type: "text-delta" as const, id: "1", delta },
        ...(i === texts.length - 1 ? [{ type: "text-end" as const, id: "1" }] : []),
      ]),
      ...calls,
      {
        type: "finish" as const,
        finishReason: { unified: calls.length > 0 ? ("tool-calls" as const) : ("stop" as const), raw: undefined },
        usage: { inputTokens: used, outputTokens: used },
      },
    ];
    return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
  },
});

// Both processes have the same programs. The first is killed; the second finds the run by its key.
const isFirst = process.argv[2] !== undefined;
const task = { question: "My teapot of order o-1 broke.", mostTokens: 10_000 };

if (isFirst) {
  const node = await createNode({ store: postgres(process.argv[2]!), programs: [model, agent] });
  const run = await node.start(agent, task, { key: "ticket-7" });
  for await (const event of run.watch()) {
    if (event.type !== "waiting" || event.on !== "approval") continue;
    const [asked] = (await node.approvals.list({ to: "finance" })).rows;
    console.log(asked!.ask, asked!.plan);
    await node.approvals.decide(asked!, { choice: "approved", by: "ann" }); // carries the hash of what was shown
  }
}

await using server = await startEmbedded({ onNotice: () => {} });
await postgres(server.url).migrate();
const db = new pg.Pool({ connectionString: server.url });
await db.query("create table refunds (order_id text, cents int)");
const first = fork(fileURLToPath(import.meta.url), [server.url]);
console.log("first process:", (await once(first, "exit"))[1]);

await using node = await createNode({ store: postgres(server.url), programs: [model, agent] });
const run = await node.start(agent, task, { key: "ticket-7" });
console.log(await run.result());
console.log((await db.query("select * from refunds")).rows);
console.log((await tokensOf(node, run.id).text()).trim());
await db.end();
