// One process at a time: a lease of your own, renewed while the work runs, lost when another process takes over.
import { startEmbedded } from "holdfast/embedded";
import { createLeases } from "holdfast/lease";
import { postgres } from "holdfast/postgres";

await using server = await startEmbedded();
const store = postgres(process.env["DATABASE_URL"] ?? server.url);
await store.migrate();

const leases = createLeases({ store, owner: "node-1" });
const lease = await leases.acquire("nightly-export", { for: "60s" });
if (lease.ok) {
  await lease.hold(async ({ signal, fence }) => {
    // `signal` aborts when the lease is lost; `fence.epoch` only ever rises: pass it to outside systems.
    console.log(`exporting under epoch ${fence.epoch}, aborted: ${signal.aborted}`);
  });
} else {
  console.log(`${lease.owner} holds it for another ${lease.leftMs} ms`);
}
await store.close();
