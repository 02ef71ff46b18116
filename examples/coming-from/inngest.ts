// An onboarding in place of an Inngest function: a mail, a wait for what the user does, a reminder, an event for others.
import { createNode, event, on, signal, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

interface User {
  id: string;
  email: string;
  plan: string;
}

const activated = signal<{ at: string }>("activated");
const lost = event<{ id: string }>()("user.lost");

const onboarding = workflow(
  "onboarding",
  { concurrency: [{ key: "plan", limit: 10 }, 50] },
  async (ctx, user: User) => {
    await ctx.step("welcome", { retry: 5 }, () => mail(user.email, "Welcome"));
    const active = await ctx.waitFor(activated, { timeout: "1s" }); // in production: "3d"
    if (active) return `active since ${active.at}`;
    await ctx.step("remind", () => mail(user.email, "Still there?"));
    await ctx.emit(lost, { id: user.id });
    return "reminded";
  },
);
const winBack = workflow("win-back", { on: [on(lost)] }, async (ctx, { id }) => ctx.step("call", () => `call ${id}`));

const store = memoryStore(); // in production: postgres(url)
await using node = await createNode({ store, programs: [onboarding, winBack] });

// The run's key is how an event finds it.
const ann = await node.start(onboarding, { id: "u-1", email: "ann@example.com", plan: "free" }, { key: "u-1" });
const found = await node.runs.get({ program: onboarding, key: "u-1" });
await found?.signal(activated, { at: "noon" });
console.log(await ann.result());

const calls = node.watch({ program: "win-back" });
const call = calls.next();
const bob = await node.start(onboarding, { id: "u-2", email: "bob@example.com", plan: "free" }, { key: "u-2" });
console.log(await bob.result());
console.log((await call).value?.program, (await call).value?.state);
await calls.return();

function mail(to: string, subject: string) {
  console.log(`${subject} to ${to}`);
}
