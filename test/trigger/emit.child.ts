// A process that emits the same events as its siblings, in an order of its own, on a command.

import { createClient } from "../../src/client/create-client.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { measured } from "./measured-event.js";

const [url, schema, seed, count] = process.argv.slice(2) as [string, string, string, string];
const store = openPostgres(url, { schema });
const client = createClient({ store });
process.on("message", async () => {
  const numbers = Array.from({ length: Number(count) }, (_, i) => (i * 7 + Number(seed) * 31) % Number(count));
  const emitted = await Promise.all(numbers.map((n) => client.emit(measured, { sensor: `s-${n % 10}`, n })));
  const started = emitted.flatMap(({ runs }) => runs).filter(({ outcome }) => outcome === "started").length;
  process.send!({ started });
  await store.close();
  process.disconnect();
});
process.send!("ready");
