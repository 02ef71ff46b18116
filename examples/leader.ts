// One leader among many processes: elected by a named lease, and replaced at once when it resigns.
import { startEmbedded } from "holdfast/embedded";
import { createLeader } from "holdfast/lease";
import { postgres } from "holdfast/postgres";

await using server = await startEmbedded();
const store = postgres(process.env["DATABASE_URL"] ?? server.url);
await store.migrate();

const candidate = (owner: string) =>
  createLeader({
    store,
    owner,
    key: "exports",
    lease: "3s",
    renew: "1s",
    onElected: ({ fence, signal }) => {
      console.log(`${owner} leads, epoch ${fence.epoch}`);
      signal.addEventListener("abort", () => console.log(`${owner} stops its work: ${signal.reason.reason}`));
    },
  });

const [one, two] = [candidate("node-1"), candidate("node-2")];
one.start();
while (!one.isLeader()) await new Promise((resolve) => setTimeout(resolve, 20));
two.start();
await one.stop();
while (!two.isLeader()) await new Promise((resolve) => setTimeout(resolve, 20));
await two.stop();
await store.close();
