// Addresses: what is seen is in the URL, env stays, relative times become instants; calls go where the route table says.

import { describe, expect, test } from "vitest";
import {
  chipsOf,
  fixedTimes,
  instantOf,
  matchPath,
  readAddress,
  shortId,
  withQuery,
  writeAddress,
} from "../../dashboard/src/live/address.js";
import { parseEvents } from "../../dashboard/src/live/event-stream.js";
import { takesEnv } from "../../dashboard/src/live/takes-env.js";
import { ROUTES } from "../../src/admin/routes/index.js";

const NOW = Date.parse("2026-11-17T18:00:00Z");

describe("an address", () => {
  test("is read and written under any mount prefix", () => {
    for (const base of ["/", "/ops/", "/a/b/"]) {
      const address = readAddress(`${base}runs/01a1`, "?tab=journal&env=qa", base);
      expect(address).toEqual({ path: "/runs/01a1", query: { tab: "journal", env: "qa" } });
      expect(writeAddress(address, base)).toBe(`${base}runs/01a1?tab=journal&env=qa`);
    }
    expect(readAddress("/ops", "", "/ops/").path).toBe("/");
  });

  test("loses a field that is set to nothing, and keeps the others", () => {
    const address = { path: "/runs", query: { state: "failed", env: "qa" } };
    expect(withQuery(address, { state: null, program: "order" }).query).toEqual({ env: "qa", program: "order" });
  });

  test("matches patterns part by part", () => {
    expect(matchPath("/runs/:id", "/runs/01a1")).toEqual({ id: "01a1" });
    expect(matchPath("/programs/:program", "/programs/etl%3A%3Atrain")).toEqual({ program: "etl::train" });
    expect(matchPath("/runs/:id", "/runs")).toBeNull();
    expect(matchPath("/runs", "/nodes")).toBeNull();
    expect(matchPath("/runs/:id", "/runs/%E0%A4%A")).toEqual({ id: "%E0%A4%A" });
  });

  test("replaces relative times by instants at once", () => {
    expect(fixedTimes({ from: "-1h", state: "failed" }, NOW)).toEqual({
      from: "2026-11-17T17:00:00.000Z",
      state: "failed",
    });
    expect(fixedTimes({ from: "2026-11-17T17:00:00.000Z" }, NOW)).toBeNull();
    expect(instantOf("tomorrow", NOW)).toBeNull();
  });

  test("shows filters as chips in a fixed order", () => {
    expect(chipsOf({ to: "x", tab: "journal", state: "failed", queue: "" })).toEqual([
      { name: "state", value: "failed" },
      { name: "to", value: "x" },
    ]);
  });
});

test("the short ids of runs of one millisecond differ", () => {
  const ids = ["01a1ea62-fd76-7000-802e-f415e441ab20", "01a1ea62-fd76-7001-9c3b-0a2be441ab21"];
  expect(ids.map(shortId)).toEqual(["01a1ea62-fd76", "01a1ea62-fd76-7001"]);
});

test("a call carries the env exactly where the route takes one", () => {
  const routes = Object.values(ROUTES) as readonly { path: string; input: { shape: object } }[];
  const wrong = routes.filter(({ path, input }) => "env" in input.shape !== takesEnv(path)).map(({ path }) => path);
  expect(wrong).toEqual([]);
});

describe("the stream's events", () => {
  const text = ': comment\n\nevent: patch\nid: 7\ndata: {"a":\ndata: 1}\n\nevent: gone\r\ndata: x\r\n\r\nevent: pat';

  test("are read however the text is cut", () => {
    const whole = parseEvents(text);
    expect(whole.events).toEqual([
      { event: "patch", id: "7", data: '{"a":\n1}' },
      { event: "gone", id: null, data: "x" },
    ]);
    expect(whole.rest).toBe("event: pat");
  });
});
