// Encryption at rest: a codec that encrypts what programs receive, record and return, with a key that is rotated.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { type Codec, createNode, jsonCodec, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";

const json = jsonCodec();

/** AES-256-GCM. Each key is a codec of its own: its name is stored with every value that it wrote. */
function encrypted(id: string, key: Buffer): Codec {
  const name = `aes-${id}`;
  return {
    name,
    encode(value, path) {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(name));
      const text = Buffer.concat([cipher.update(json.encode(value, path), "utf8"), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64");
    },
    decode(stored) {
      const bytes = Buffer.from(stored, "base64");
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12)).setAAD(Buffer.from(name));
      decipher.setAuthTag(bytes.subarray(12, 28));
      return json.decode(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8"));
    },
  };
}

const order = workflow("order", async (ctx, card: string) => {
  await ctx.step("charge", () => `charged ${card}`);
  await ctx.approval("ship", { ask: "Ship it?" });
  return ctx.step("ship", () => `shipped for ${card}`);
});

// Keys come from a secret store, never from the code.
const march = encrypted("2026-03", randomBytes(32));
const april = encrypted("2026-04", randomBytes(32));

const store = memoryStore();
const before = await createNode({ store, programs: [order], codecs: [march] });
const run = await before.start(order, "4242 4242");
for await (const { type } of run.watch()) if (type === "waiting") break;
await before.stop();

// The rotation: the first codec writes, all of them read.
const after = await createNode({ store, programs: [order], codecs: [april, march] });
await after.run(run.id).decide("ship", { choice: "approved", by: "ann" });
console.log(await after.run(run.id).result({ timeout: "5s" }));

const { entries } = (await store.journal.read(run.id))!;
console.log(new Set(entries.flatMap(({ payload }) => payload?.codec ?? [])));
console.log(entries.some(({ payload }) => payload?.data.includes("4242")));
await after.stop();
