// The options of a node: what is in the wrong place or of the wrong kind is rejected before the node does anything.

import { describe, expect, test } from "vitest";
import { createNode } from "../../src/node/create-node.js";
import { type NodeOptions, OPTION_NAMES, withEnvironment } from "../../src/node/node-options.js";
import { memoryStore } from "../../src/store/memory/index.js";

const create = (options: object) => createNode({ store: memoryStore(), programs: [], ...options } as NodeOptions);
const GROUPS = Object.entries(OPTION_NAMES).flatMap(([name, group]) => (group === true ? [] : [name]));

describe("an option", () => {
  test("that belongs to a group is refused at the top, with its place", async () => {
    await expect(create({ lease: "30s" })).rejects.toMatchObject({
      code: "INVALID_SETTINGS",
      problems: ["lease is not an option; write timing.lease"],
    });
    await expect(create({ executors: { gpu: 1 } })).rejects.toThrow("write flow.executors");
  });

  test("that does not exist is refused, with those that do", async () => {
    await expect(create({ programmes: [] })).rejects.toThrow("programmes is not an option; the options are store, ");
    await expect(create({ identity: { nmae: "a" } })).rejects.toThrow(
      "identity.nmae is not an option; the options of identity are id, name, build",
    );
  });

  test("is reported together with all others that are wrong", async () => {
    const options = { timing: { lease: 0 }, recovery: { crashLimit: 0 }, flow: { prefech: 1 } };
    const problems = [/^flow\.prefech is not/, /^timing\.lease must be/, /^recovery\.crashLimit must be/];
    await expect(create(options)).rejects.toMatchObject({
      problems: problems.map((one) => expect.stringMatching(one)),
    });
  });
});

describe("a group", () => {
  test.each(GROUPS)("%s must be an object", async (group) => {
    for (const value of [7, "me", null, []]) {
      await expect(create({ [group]: value }), JSON.stringify(value)).rejects.toThrow(`${group} must be an object`);
    }
  });
});

test("the environment completes what the options leave open, also inside the groups", async () => {
  const environment = {
    HOLDFAST_NODE_ID: "a",
    HOLDFAST_NODE_NAME: "b",
    HOLDFAST_STACK: "c",
    HOLDFAST_MODE: "disabled",
  };
  const options = { store: memoryStore(), programs: [], identity: { name: "me" }, flow: { prefetch: 1 } };
  expect(await withEnvironment(options, environment)).toMatchObject({
    stack: "c",
    identity: { id: "a", name: "me" },
    flow: { prefetch: 1, mode: "disabled" },
  });
});

test("a start without a program is rejected with what to pass instead", async () => {
  const node = await create({ signals: false });
  await expect(node.start("order" as never)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  await expect(node.start("order" as never)).rejects.toThrow("createClient starts programs by name");
  await node.stop();
});
