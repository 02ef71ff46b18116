// The pure parts: tables, times, escapes, short ids, waits.

import { describe, expect, test } from "vitest";
import { COMMAND_NAMES, loadCommand } from "../../src/cli/commands.js";
import { hostOf } from "../../src/cli/database-address.js";
import { overallHelp } from "../../src/cli/help.js";
import { pendingWaits } from "../../src/cli/pending-waits.js";
import { nearest } from "../../src/cli/read-arguments.js";
import { paintFor } from "../../src/cli/text/paint.js";
import { payloadJson, payloadLine } from "../../src/cli/text/payload-text.js";
import { shortIds } from "../../src/cli/text/short-id.js";
import { cutToWidth, tableLines, textWidth } from "../../src/cli/text/table.js";
import { clockTime, timeAgo } from "../../src/cli/text/time-ago.js";
import { jsonLine, visible, withoutPasswords } from "../../src/cli/text/visible.js";
import { codecs } from "../../src/kernel/codec/codecs.js";
import type { JournalEntry } from "../../src/store/contract/journal/journal.js";

const plain = paintFor({ isTTY: false, env: {} });
const painted = paintFor({ isTTY: true, env: {} });
const coder = codecs();

test("the help fits a window, and a command that is mistyped is named", async () => {
  const help = overallHelp(await Promise.all(COMMAND_NAMES.map(loadCommand)));
  expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
  expect(["rusn", "aprove", "shwo", "nodse", "retyr"].map((typed) => nearest(typed, COMMAND_NAMES))).toEqual([
    "runs",
    "approve",
    "show",
    "nodes",
    "retry",
  ]);
  expect(["", "frob", "x".repeat(10_000)].map((typed) => nearest(typed, COMMAND_NAMES))).toEqual([null, null, null]);
});

test("the plan of an approval is shown with what is asked", () => {
  const asked = { ask: "Pay?", plan: { cents: 100 }, choices: ["yes", "no"], to: null, timeoutMs: null, hash: "h" };
  const entry = {
    seq: 2,
    epoch: 1,
    kind: "approval.begun",
    name: "pay",
    key: "1",
    payload: coder.encode(asked),
    at: 0,
  };
  expect(pendingWaits([entry])[0]!.detail).toBe('Pay? Plan: {"cents":100} (yes, no)');
});

describe("a table", () => {
  const columns = [{ title: "A" }, { title: "N", align: "right" as const }, { title: "TEXT", flexible: true }];

  test("aligns columns with wide characters and colours", () => {
    const rows = [
      ["名前", "1", "x"],
      [{ text: "ab", colour: "red" as const }, "100", "y"],
    ];
    expect(tableLines({ columns, rows }, 100, plain)).toEqual(["A       N  TEXT", "名前    1  x", "ab    100  y"]);
    expect(tableLines({ columns, rows }, 100, painted)[2]).toBe("\x1b[31mab\x1b[0m    100  y");
  });

  test("cuts only flexible columns, and marks the cut", () => {
    const rows = [["fixed", "1", "a text that is far too long for this table"]];
    const [, line] = tableLines({ columns, rows }, 30, plain);
    expect(line).toBe("fixed  1  a text that is far…");
    expect(line!.length).toBeLessThanOrEqual(30);
  });

  test("leaves out columns without content and keeps rows on one line", () => {
    expect(tableLines({ columns, rows: [["a\nb", "", "c"]] }, 100, plain)).toEqual(["A     TEXT", "a\\nb  c"]);
  });
});

test("widths count columns, not characters", () => {
  expect([textWidth("abc"), textWidth("名前"), textWidth("e\u0301"), textWidth("🚀")]).toEqual([3, 4, 1, 2]);
  expect(cutToWidth("名前名前", 5)).toBe("名前…");
  expect(cutToWidth("short", 5)).toBe("short");
});

test("times are relative, in the largest unit of which there are two", () => {
  const now = 1_000_000_000_000;
  const ago = [400, 12_000, 119_000, 121_000, 3_600_000, 86_400_000, 200_000_000].map((ms) => timeAgo(now - ms, now));
  expect(ago).toEqual(["now", "12 s ago", "119 s ago", "2 min ago", "60 min ago", "24 h ago", "2 d ago"]);
  expect(timeAgo(now + 58_000, now)).toBe("in 58 s");
  expect(clockTime(0, false)).toBe("00:00:00.000");
  expect(clockTime(0, true)).toBe("1970-01-01 00:00:00.000");
});

test("unseen characters are made visible, in JSON too", () => {
  expect(visible("a\x1b[31m\u202e\u2028\x9b\ud800é名")).toBe("a\\x1b[31m\\u202e\\u2028\\x9b\\ud800é名");
  const value = { "k\x9b": "\u202e\u{e0001}\x7f" };
  expect(jsonLine(value)).toBe('{"k\\u009b":"\\u202e\\udb40\\udc01\\u007f"}');
  expect(JSON.parse(jsonLine(value))).toEqual(value);
});

test("addresses lose their password; a host is named only when it certainly is one", () => {
  expect(withoutPasswords("at postgres://a:b@c/d now")).toBe("at postgres://… now");
  expect(withoutPasswords("postgres://user@host:5432/database")).toBe("postgres://user@host:5432/database");
  expect(hostOf("postgres://a:b@host:5432/db?sslmode=require")).toBe("host:5432");
  for (const url of ["postgres://a:1/2@h/db", "postgres://a:p#x@h/db", "postgres://a:1?x@h/db", "nonsense"]) {
    expect(hostOf(url), url).toBeNull();
  }
});

test("ids are cut to the groups that distinguish them", () => {
  const a = "01a1e1c3-2f9f-7000-964d-5f80d727965a";
  const b = "01a1e1c3-2f9f-7001-964d-5f80d727965a";
  expect(shortIds([a])(a)).toBe("01a1e1c3-2f9f");
  expect([a, b].map(shortIds([a, b]))).toEqual(["01a1e1c3-2f9f-7000", "01a1e1c3-2f9f-7001"]);
});

test("values are printed as JSON where they are JSON, and never guessed", () => {
  expect(payloadLine(coder.encode({ a: [1, "x"] }))).toBe('{"a":[1,"x"]}');
  expect(payloadLine(coder.encode({ at: new Date(0), n: 5n }))).toBe("{ at: 1970-01-01T00:00:00.000Z, n: 5n }");
  expect(payloadLine(coder.encode(undefined))).toBe("");
  expect(payloadLine({ codec: "aes", data: "abc" })).toBe("(3 characters of codec aes)");
  expect(payloadLine({ codec: "json", data: "{" })).toBe("(unreadable: 1 characters that are not JSON)");
  expect(payloadJson({ codec: "aes", data: "abc" })).toEqual({ codec: "aes", data: "abc" });
});

test("a wait is pending until its signal or its end is recorded", () => {
  let seq = 0;
  const entry = (kind: string, name: string, key: string): JournalEntry => {
    const payload = kind.endsWith(".begun") ? coder.encode({ ms: 1_000 }) : null;
    return { seq: ++seq, epoch: 1, kind, name, key, payload, at: 500 };
  };
  const names = (entries: JournalEntry[]) => pendingWaits(entries).map(({ name, deadline }) => `${name} ${deadline}`);
  const nap = entry("sleep.begun", "nap", "1");
  const first = entry("wait.begun", "paid", "1");
  const second = entry("wait.begun", "paid", "2");
  expect(names([nap, first])).toEqual(["nap 1500", "paid 1500"]);
  expect(names([nap, entry("sleep", "nap", "1")])).toEqual([]);
  expect(names([first, entry("take", "paid", "signal:9")])).toEqual([]);
  expect(names([first, entry("wait.expired", "paid", "1"), second])).toEqual(["paid 1500"]);
  expect(
    names([entry("enqueue", "child", "c1"), entry("enqueue", "child", "c2"), entry("take", "child", "child:c1")]),
  ).toEqual(["child null"]);
  expect(names([first, entry("wait.expired", "paid", "1"), second, entry("take", "paid", "signal:9")])).toEqual([]);
});
