// The identity of a node: from options, else from the environment, else generated; readable on the node, and registered.

import { afterEach, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { fromEnvironment } from "../../src/client/identity.js";
import { createNode } from "../../src/node/create-node.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { workflow } from "../../src/workflow/workflow.js";

const VARIABLES = {
  HOLDFAST_NODE_ID: "id-of-env",
  HOLDFAST_NODE_NAME: "name of env",
  HOLDFAST_ENV: "env-of-env",
  HOLDFAST_STACK: "stack-of-env",
  HOLDFAST_BUILD: "build-of-env",
};
const hello = workflow("hello", async () => "hello");

afterEach(() => {
  for (const name of Object.keys(VARIABLES)) delete process.env[name];
});

describe("a node", () => {
  test("takes its identity from its options, and registers it with what it serves", async () => {
    Object.assign(process.env, VARIABLES);
    const store = memoryStore();
    const said = { identity: "me", name: "My node", env: "test", stack: "blue", build: "v7" };
    const { identity: id, name, env, stack, build } = said;
    await using node = await createNode({ store, programs: [hello], env, stack, identity: { id, name, build } });
    expect(node).toMatchObject(said);
    const [record] = await store.nodes.list({ env: "test" });
    const group = { env: "test", stack: "blue", queue: "hello", program: "hello", version: null };
    expect(record).toMatchObject({ ...said, incarnation: node.incarnation, alive: true, holds: 0 });
    expect(record?.serves).toEqual([group, { ...group, stack: null }]);
  });

  test("takes its identity from the environment where its options are missing", async () => {
    Object.assign(process.env, VARIABLES);
    await using node = await createNode({ store: memoryStore(), programs: [], identity: { name: "given" } });
    expect(node).toMatchObject({
      identity: "id-of-env",
      name: "given",
      env: "env-of-env",
      stack: "stack-of-env",
      build: "build-of-env",
    });
  });

  test("otherwise generates an identity, another one at every start", async () => {
    const store = memoryStore();
    await using one = await createNode({ store, programs: [] });
    await using two = await createNode({ store, programs: [] });
    expect(one).toMatchObject({ env: "default", stack: null, build: two.build });
    expect(one.name).toBe(one.identity);
    expect(one.identity).not.toBe(two.identity);
  });

  test("calls a callback, sync or async, and a new start is a new incarnation", async () => {
    const store = memoryStore();
    const identity = async () => "pod-7";
    await using one = await createNode({ store, programs: [], identity: { id: identity } });
    await using two = await createNode({ store, programs: [], identity: { id: () => "pod-7" } });
    expect([one.identity, two.identity]).toEqual(["pod-7", "pod-7"]);
    expect(one.incarnation).not.toBe(two.incarnation);
  });

  test("rejects an unreadable name, and names the option or variable it came from", async () => {
    const broken = { identity: { id: () => "a\0b" } };
    await expect(createNode({ store: memoryStore(), programs: [], ...broken })).rejects.toMatchObject({
      path: "identity.id",
    });
    const wrong = expect.objectContaining({ path: "HOLDFAST_ENV" });
    expect(() => fromEnvironment({}, { HOLDFAST_ENV: "Not A Slug" })).toThrow(wrong);
    expect(fromEnvironment({}, { HOLDFAST_ENV: "" })).toEqual({});
  });
});

test("a client starts runs in the env and stack of its environment variables", async () => {
  Object.assign(process.env, VARIABLES);
  const store = memoryStore();
  const run = await createClient({ store }).start(hello);
  const other = await createClient({ store, env: "here" }).start(hello);
  expect((await run.status()).group).toMatchObject({ env: "env-of-env", stack: "stack-of-env" });
  expect((await other.status()).group).toMatchObject({ env: "here", stack: "stack-of-env" });
});
