// A conversation: each message is a run that begins with the state of the last one. It looks up two sources side by side, remembers a
// name beyond the conversation, and pauses at a breakpoint.
import { createNode } from "holdfast";
import { append, graph, state } from "holdfast/graph";
import { memoryStore } from "holdfast/memory";

interface Talk {
  readonly messages: readonly string[];
  readonly sources: readonly string[];
}
const S = state<Talk>({ messages: append() });

const chat = graph("chat", {
  state: S,
  init: (message: string) => ({ messages: [message], sources: [] }),
  start: "listen",
  nodes: {
    listen: async (ctx, s) => {
      const [, name] = /I am (\w+)/.exec(s.messages.at(-1)!) ?? [];
      if (name) ctx.store.put("people", "me", name);
    },
    web: S.node({ cache: { key: (s) => s.messages.at(-1), ttl: "1h" } }, async () => {
      console.log("asks the web");
      return { sources: ["web"] };
    }),
    wiki: async () => {},
    answer: async (ctx, s) => {
      const name = (await ctx.store.get<string>("people", "me")) ?? "you";
      return { messages: [`${name}, that was message ${(s.messages.length + 1) / 2}`] };
    },
  },
  edges: { listen: { to: ["web", "wiki"] }, web: "answer", wiki: "answer", answer: "end" },
  output: (s) => s.messages.at(-1),
});

await using node = await createNode({ store: memoryStore(), programs: [chat] });
for (const message of ["I am Ann", "and now?", "and now?"]) {
  const run = await node.graphs.continue(chat, "thread-1", message);
  console.log(await run.result());
}
console.log((await node.graphs.thread(chat, "thread-1"))?.state.messages.length, "messages");
console.log(await node.graphs.store.get("people", "me"), "is remembered");

const stopped = await node.graphs.start(chat, "hello", { breakpoints: { before: ["answer"] } });
for await (const event of stopped.watch()) {
  if (event.type !== "released" || event.as !== "paused") continue;
  console.log("paused at", (await node.graphs.position(stopped.id)).position);
  await node.graphs.breakpoints(chat, stopped.id, {});
  await stopped.resume();
}
console.log(await stopped.result());
