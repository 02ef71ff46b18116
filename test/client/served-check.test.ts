// The look for a node that takes a started run: once per group and half a minute, and again after one that failed.

import { expect, test } from "vitest";
import { ServedCheck } from "../../src/client/served-check.js";
import { systemWorld } from "../../src/kernel/system-world.js";

const group = { env: "default", stack: null, queue: "q", program: "p", version: null };

function checkWith(list: () => Promise<never[]>) {
  let looks = 0;
  const nodes = {
    list: () => {
      looks++;
      return list();
    },
  };
  const unserved: string[] = [];
  const store = { nodes } as unknown as ConstructorParameters<typeof ServedCheck>[0]["store"];
  const onUnserved = ({ id }: { readonly id: string }) => void unserved.push(id);
  const check = new ServedCheck({ store, world: systemWorld(), isWanted: () => true, onUnserved });
  return { check, unserved, looks: () => looks };
}

test("runs of one group lead to one look, whether they share the object of the group or not", async () => {
  const { check, unserved, looks } = checkWith(async () => []);
  for (const id of ["1", "2", "3"]) check.started({ id, group });
  check.started({ id: "4", group: { ...group } });
  await expect.poll(() => unserved).toEqual(["1"]);
  expect(looks()).toBe(1);
});

test("a look that failed is made again with the next start", async () => {
  let isAway = true;
  const { check, unserved, looks } = checkWith(async () => {
    if (isAway) throw new Error("away");
    return [];
  });
  check.started({ id: "1", group });
  check.started({ id: "2", group });
  check.started({ id: "3", group });
  await new Promise((resolve) => setTimeout(resolve, 10));
  isAway = false;
  check.started({ id: "4", group });
  await expect.poll(() => unserved).toEqual(["4"]);
  expect(looks()).toBe(2);
});
