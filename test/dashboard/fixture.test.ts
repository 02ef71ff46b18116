// The fixture answers as the route table says, so that the page is tested with what a real server sends.

import { expect, test } from "vitest";
import type { RouteName } from "../../src/admin/api.js";
import { ROUTES } from "../../src/admin/routes/index.js";
import { ANSWERS, type Input } from "./fixture/answers.js";
import { uuid } from "./fixture/clock.js";

const INPUT = {
  id: uuid(1),
  seq: "2",
  node: uuid(901),
  ids: uuid(1),
  machine: "orders",
  instance: "o-17",
  program: "order",
};

test.each(Object.keys(ANSWERS) as RouteName[])("%s", (name) => {
  const input = {
    ...(name.startsWith("runs.") || name.startsWith("nodes.") ? INPUT : {}),
    filter: {},
  } as unknown as Input;
  const answer = ANSWERS[name]!({ ...INPUT, ...input } as Input);
  const parsed = ROUTES[name].output.safeParse(answer);
  expect(parsed.error?.issues ?? []).toEqual([]);
});
