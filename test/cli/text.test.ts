// The pure parts: tables, times, escapes, short ids, waits.

import { PassThrough } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { COMMAND_NAMES } from "../../src/cli/commands.js";
import { hostOf } from "../../src/cli/database-address.js";
import { displayWidth } from "../../src/cli/library/text.js";
import { pendingWaits } from "../../src/cli/pending-waits.js";
import { type HelpText, type Read, readCommandLine } from "../../src/cli/read-command-line.js";
import { cutTo } from "../../src/cli/text/cut.js";
import { paintFor } from "../../src/cli/text/paint.js";
import { payloadJson, payloadLine } from "../../src/cli/text/payload-text.js";
import { progressOf } from "../../src/cli/text/progress.js";
import { shortIds } from "../../src/cli/text/short-id.js";
import { tableLines } from "../../src/cli/text/table.js";
import type { Terminal } from "../../src/cli/text/terminal.js";
import { clockTime, timeAgo } from "../../src/cli/text/time-ago.js";
import { jsonLine, visible, withoutPasswords } from "../../src/cli/text/visible.js";
import { codecs } from "../../src/kernel/codec/codecs.js";
import type { World } from "../../src/kernel/world.js";
import type { JournalEntry } from "../../src/store/contract/journal/journal.js";

const plain = paintFor({ isTTY: false, env: {} });
const painted = paintFor({ isTTY: true, env: {} });
const coder = codecs();

describe("the command line", () => {
  test("has a help that fits the window, with every command in a group", async () => {
    for (const width of [60, 80, 140]) {
      const help = (await readCommandLine(["--help"], width)) as HelpText;
      expect(help).toMatchObject({ is: "help", asked: true });
      expect(Math.max(...help.text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(width);
      for (const name of COMMAND_NAMES) expect(help.text).toMatch(new RegExp(`^  ${name} `, "m"));
    }
    for (const name of COMMAND_NAMES) {
      const help = (await readCommandLine([name, "--help"], 80)) as HelpText;
      expect(help.text).toMatch(/^Usage: holdfast \w+ .*\n\n[\s\S]*--json/);
    }
  });

  test("suggests the command or the option that was meant", async () => {
    const refused = (words: string[]) => readCommandLine(words, 80).catch((error: Error) => error.message);
    expect(await Promise.all(["rusn", "aprove", "shwo", "nodse", "retyr"].map((word) => refused([word])))).toEqual(
      ["runs", "approve", "show", "nodes", "retry"].map((name) => expect.stringContaining(`did you mean ${name}?`)),
    );
    expect(await refused(["runs", "--limt", "3"])).toBe("unknown option '--limt'; did you mean --limit?");
    expect(await refused(["x".repeat(10_000)])).not.toContain("did you mean");
  });

  test("takes common options before the command and after it, and gives options their types", async () => {
    const words = ["--env", "test", "prune", "--older-than", "7d", "--json", "--state", "failed,dead", "--dry-run"];
    const { command, values } = (await readCommandLine(words, 80)) as Read;
    expect(command.name).toBe("prune");
    expect(values).toMatchObject({ env: "test", json: true, "older-than": "7d", state: ["failed", "dead"] });
    expect(values).toMatchObject({ "dry-run": true, yes: undefined });
    const limited = (await readCommandLine(["runs", "--limit", "7"], 80)) as Read;
    expect(limited.values["limit"]).toBe(7);
    const dashed = (await readCommandLine(["signal", "r", "n", "--", "-5"], 80)) as Read;
    expect(dashed.arguments).toEqual(["r", "n", "-5"]);
  });
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
    expect(tableLines({ columns, rows }, 100, painted)[2]).toBe("\x1b[31mab\x1b[39m    100  y");
  });

  test("cuts only flexible columns, and marks the cut", () => {
    const rows = [["fixed", "1", "a text that is far too long for this table"]];
    const [, line] = tableLines({ columns, rows }, 30, plain);
    expect(line).toBe("fixed  1  a text that is far …");
    expect(line!.length).toBeLessThanOrEqual(30);
  });

  test("of any width fits the window: the last columns go, then the first is cut", () => {
    const wide = { columns: [{ title: "RUN" }, { title: "NAME", flexible: true }, { title: "SEEN" }, { title: "ID" }] };
    const rows = [["01a1e1cc-6632", "名前名前名前 🚀 e\u0301", "3 s ago", "01b0def5"]];
    for (const width of [8, 20, 30, 40, 60]) {
      const lines = tableLines({ ...wide, rows }, width, plain);
      for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(width);
    }
    expect(tableLines({ ...wide, rows }, 42, plain)[0]).toBe("RUN            NAME               SEEN");
  });

  test("keeps a column that stays, and cuts the others further", () => {
    const columns = [
      { title: "RUN" },
      { title: "STATE", stays: true },
      { title: "NAME", flexible: true },
      { title: "ID" },
    ];
    const rows = [["01a1e1cc-6632", "completed", "a rather long name", "01b0def5"]];
    const lines = tableLines({ columns, rows }, 38, plain);
    expect(lines[0]).toBe("RUN            STATE      NAME");
    expect(lines[1]).toBe("01a1e1cc-6632  completed  a rather lo…");
    for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(38);
  });

  test("leaves out columns without content and keeps rows on one line", () => {
    expect(tableLines({ columns, rows: [["a\nb", "", "c"]] }, 100, plain)).toEqual(["A     TEXT", "a\\nb  c"]);
  });
});

test("widths count columns, not characters", () => {
  expect([displayWidth("abc"), displayWidth("名前"), displayWidth("e\u0301"), displayWidth("🚀")]).toEqual([
    3, 4, 1, 2,
  ]);
  expect(cutTo("名前名前", 5)).toBe("名前…");
  expect(cutTo("short", 5)).toBe("short");
});

describe("progress", () => {
  /** A second passes with every look at the clock. */
  const hasty = () => {
    let now = 0;
    return { monotonicNow: () => (now += 600) } as unknown as World;
  };

  test("without a terminal is a line now and then, with the total where it is known", () => {
    const lines: string[] = [];
    const terminal = { isTTY: false, writeError: (text: string) => void lines.push(text) } as unknown as Terminal;
    const progress = progressOf("runs deleted", terminal, hasty());
    for (const done of [1_000, 2_000, 3_000, 4_000]) progress.at(done, 5_000);
    progress.at(4_500);
    progress.end();
    expect(lines[0]).toBe("2000 of 5000 runs deleted so far\n");
    expect(lines.length).toBeLessThan(5);
    expect(lines.every((line) => line.endsWith("runs deleted so far\n"))).toBe(true);
  });

  test("on a terminal is a bar that is removed at the end", async () => {
    const output = new PassThrough();
    const stream = Object.assign(output, { isTTY: true, columns: 80, cursorTo() {}, clearLine() {}, moveCursor() {} });
    let drawn = "";
    stream.on("data", (part: Buffer) => (drawn += part.toString()));
    const terminal = { isTTY: true, errors: stream, writeError() {} } as unknown as Terminal;
    const progress = progressOf("runs deleted", terminal, hasty());
    progress.at(1, 4);
    progress.at(2, 4);
    await vi.waitFor(() => expect(drawn).toContain("━"), 20_000);
    progress.at(4, 4);
    progress.end();
    expect(drawn).toMatch(/of 4 runs deleted/);
    const length = drawn.length;
    progress.end();
    expect(drawn.length - length).toBeLessThan(50);
  });
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
