// The story of `npm start` in a browser: a node is killed and its run continues, another is frozen and its late write is refused,
// a person approves, meets a conflict, retries a group, forks a graph and switches a mode.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { compiled } from "../harness/compiled.js";
import { describeWith } from "../harness/require.js";
import { type SampleCluster, startSample } from "../harness/sample-cluster.js";
import { sharedDashboard } from "./shared-build.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const MAIN = compiled(join(import.meta.dirname, "../../src/cli/main.ts"));
const SOON = { timeout: 15_000, interval: 100 };
/** Two of three nodes are away: a run waits for a slot and then works for seconds. */
const SLOW = { timeout: 40_000, interval: 250 };

interface Owned {
  readonly id: string;
  readonly last: { readonly kind: string } | null;
  readonly owner: string | null;
}

interface Claim {
  /** When its first entry was written. */
  readonly from: string | null;
  readonly reclaimed: { readonly refused: number } | null;
}

interface Lost {
  readonly runId: string;
  readonly program: string;
  readonly from: { readonly name: string | null } | null;
}

describeWith("browser", "the dashboard of a development cluster", (executablePath) => {
  let built: string;
  let cluster: SampleCluster;
  let browser: Browser;
  let page: Page;
  /** A run whose node was killed. */
  let killed: string;
  let frozenNode: string;
  const problems: string[] = [];

  beforeAll(async () => {
    built = await sharedDashboard();
    const launch = { executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] };
    [cluster, browser] = await Promise.all([
      startSample({ main: MAIN, page: built, server: inject("databaseUrl") }),
      chromium.launch(launch),
    ]);
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
    page = await context.newPage();
    page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(`${page.url()}: ${message.text()}`);
    });
    page.setDefaultTimeout(15_000);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await cluster?.close();
  });

  const open = async (path: string) => {
    await page.goto(cluster.url + path);
    await page.locator("main h1").first().waitFor();
  };
  /** `npm run screenshots` keeps these for the documents. */
  const shot = async (name: string) => {
    const folder = process.env["HOLDFAST_SCREENSHOTS"];
    if (folder)
      await page.screenshot({ path: join(folder, `${name}.png`), clip: { x: 0, y: 0, width: 1280, height: 600 } });
  };
  const nodeRow = (name: string) => page.locator("tbody tr").filter({ hasText: name }).first();
  const names = async (): Promise<ReadonlyMap<string, string>> => {
    const { rows } = await cluster.api("/nodes");
    return new Map(rows.map((one: Record<string, string>) => [one["incarnation"], one["name"]]));
  };
  /** The name of a node that works on orders now, and one of them (`wrote`: in its second step); more orders keep the nodes busy meanwhile. */
  const busyNode = async (
    not: string | null,
    wrote = false,
  ): Promise<{ readonly node: string; readonly runId: string }> => {
    const input = (i: number) => ({ id: `story-${i}`, cents: 1, seconds: 3 });
    await Promise.all([1, 2, 3, 4, 5, 6].map((i) => cluster.api("/runs", { program: "order", input: input(i) })));
    let found: { readonly node: string; readonly runId: string } | null = null;
    await expect
      .poll(async () => {
        const [known, { rows }] = await Promise.all([names(), cluster.api("/runs?state=running&program=order")]);
        const able = rows.filter(({ last }: Owned) => !wrote || last?.kind === "step");
        const held = able.map(({ id, owner }: Owned) => ({ runId: id, node: known.get(owner ?? "") ?? "" }));
        found = held.find(({ node }: { node: string }) => node !== "" && node !== not) ?? null;
        return found;
      }, SOON)
      .not.toBeNull();
    return found!;
  };
  /** The runs that were reclaimed from a node. */
  const takenFrom = async (node: string): Promise<readonly string[]> => {
    const { rows } = await cluster.api("/takeovers");
    const lost = rows.filter(({ from, program }: Lost) => from?.name === node && program === "order");
    return lost.map(({ runId }: Lost) => runId);
  };

  test("three nodes come up and work, and a run is followed live", async () => {
    await open("nodes");
    await expect.poll(() => page.locator(".badge.is-good").count(), SOON).toBe(3);
    const { runId } = await busyNode(null);
    await open(`runs/${runId}`);
    await page.locator(".row-name", { hasText: "charge" }).waitFor();
    await expect.poll(() => page.locator(".stream").textContent()).toContain("live");
  });

  test("a node is killed in the page, and its run continues on another node", { timeout: 120_000 }, async () => {
    await open("nodes");
    const { node } = await busyNode(null);
    await nodeRow(node).getByRole("button", { name: "kill -9" }).click();
    await page.getByText(`${node} was killed.`).waitFor();
    frozenNode = (await busyNode(node, true)).node;
    await nodeRow(frozenNode).getByRole("button", { name: "Freeze" }).click();
    await page.getByText(`${frozenNode} is frozen for`).waitFor();
    await nodeRow(frozenNode).getByText("frozen").waitFor();
    await page.locator(".badge", { hasText: "silent" }).first().waitFor();
    await shot("nodes");
    // Not one that the frozen node took over: that one waits for the end of its lease.
    let continued: string | null = null;
    await expect
      .poll(async () => {
        for (const id of await takenFrom(node)) {
          const { claims } = await cluster.api(`/runs/${id}/claims`);
          if (claims.some(({ from, reclaimed }: Claim) => from !== null && reclaimed === null)) continued = id;
        }
        return continued;
      }, SLOW)
      .not.toBeNull();
    killed = continued!;
    await open(`runs/${killed}`);
    await expect.poll(() => page.locator(".story.is-lost").first().textContent(), SOON).toContain("reclaimed by");
    const lane = () => page.locator("svg.drawing").first().getAttribute("aria-label");
    await expect.poll(lane, SOON).toContain(`${node} held claim`);
    await expect.poll(lane, SOON).toMatch(/No node had it for .* node-[abc] held claim/);
  });

  test("the frozen node wakes, and the page shows that its late write was refused and its run ends", {
    timeout: 120_000,
  }, async () => {
    /** 0: no late write was refused; 2: its node had written before, so that the picture shows both owners. */
    const worthOf = async (id: string): Promise<number> => {
      const { claims } = await cluster.api(`/runs/${id}/claims`);
      const lost = claims.find(({ reclaimed }: Claim) => (reclaimed?.refused ?? 0) > 0);
      return lost === undefined ? 0 : lost.from === null ? 1 : 2;
    };
    let [found, best]: [string | null, number] = [null, 0];
    await expect
      .poll(async () => {
        for (const id of await takenFrom(frozenNode)) {
          const worth = await worthOf(id);
          if (worth > best) [found, best] = [id, worth];
        }
        return found;
      }, SOON)
      .not.toBeNull();
    await open(`runs/${found}`);
    await expect.poll(() => page.locator(".story.is-refused").textContent(), SOON).toContain("late write");
    // A person answers what it asks meanwhile; the load answers for its own orders.
    const ended = async () => {
      const { state } = await cluster.api(`/runs/${found}`);
      const decision = { approval: "ship", nth: "1", choice: "approved" };
      if (state === "parked") await cluster.api(`/runs/${found}/decide`, decision);
      return state;
    };
    await expect.poll(ended, { timeout: 30_000, interval: 500 }).toBe("completed");
    await page.locator(".row-name", { hasText: "completed" }).waitFor();
    await shot("takeover");
  });

  test("a group of dead letters is retried", async () => {
    await open("dead");
    await page.getByRole("cell", { name: "invoice" }).waitFor();
    const [{ examples }] = (await cluster.api("/dead/groups")).groups;
    await page.getByRole("button", { name: "Retry…" }).first().click();
    const dialog = page.locator("dialog[open]");
    await dialog.getByText("would be changed").waitFor();
    // The group is meant by its code, in the preview and in every step.
    await dialog.getByRole("button", { name: /^retry/ }).click();
    await dialog.getByText(/runs? handled, [1-9]\d* changed\./).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    // An invoice that failed a moment ago may fail again: its template is still missing.
    const states = () => Promise.all(examples.map(async (id: string) => (await cluster.api(`/runs/${id}`)).state));
    await expect.poll(states, SOON).toContain("completed");
  });

  test("a person approves, and meets the decision of another", async () => {
    await open("approvals");
    await expect.poll(() => page.locator(".approval").count(), SOON).toBeGreaterThan(1);
    await shot("approvals");
    const first = page.locator(".approval", { hasText: "Ship story-" }).first();
    await first.getByLabel("Note").fill("fine");
    await first.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Decided: approved.").waitFor();
    // The load approves its own orders; these are left to people.
    const left = async () =>
      (await cluster.api("/approvals")).rows.find(({ ask }: { ask: string }) => ask.startsWith("Ship story-"));
    await expect.poll(left, SOON).toBeDefined();
    const row = await left();
    const body = { approval: row.approval, nth: row.nth, choice: "denied" };
    await page.locator(".approval", { has: page.locator(`a[href*="${row.runId}"]`) }).waitFor();
    // In one task of the page: its list has not heard of the other decision yet.
    await page.evaluate(
      `(async () => {
        const question = [...document.querySelectorAll(".approval")].find((one) => one.querySelector("a").href.includes("${row.runId}"));
        const headers = { "content-type": "application/json", "x-holdfast": "1" };
        await fetch("${cluster.url}api/v1/runs/${row.runId}/decide", { method: "POST", headers, body: ${JSON.stringify(JSON.stringify(body))} });
        question.querySelector(".actions button").click();
      })()`,
    );
    await page.locator(".conflict").getByText("decided").waitFor();
    problems.splice(0, problems.length, ...problems.filter((one) => !/409 \(Conflict\)/.test(one)));
  });

  test("a graph is forked from an earlier visit", async () => {
    const oldest = async () => (await cluster.api("/runs?program=research&state=parked")).rows.at(-1)?.id;
    await expect.poll(oldest, SOON).toBeDefined();
    const id = await oldest();
    await open(`runs/${id}?tab=shape&at=plan:1`);
    await page.getByRole("heading", { name: "Visit plan:1" }).waitFor();
    await page.getByRole("button", { name: "Fork from here…" }).click();
    await page.getByRole("button", { name: "Fork", exact: true }).click();
    await expect.poll(() => page.url(), SOON).not.toContain(id);
    await page.locator(".box-name", { hasText: "review" }).first().waitFor();
    await shot("graph");
  });

  test("what was done is in the audit: the kill, the freeze, the fork, each with its author", async () => {
    await open("audit");
    for (const action of ["dev.kill", "dev.freeze", "runs.fork", "bulk.step"]) {
      await page.getByRole("cell", { name: action }).first().waitFor();
    }
    const { rows } = await cluster.api("/audit?action=dev.kill");
    expect(rows[0]).toMatchObject({ by: "local", before: { state: "up" } });
  });

  test("a DAG is drawn with the state of its tasks, and a machine with its state and its timer", async () => {
    const ended = async () => (await cluster.api("/runs?program=etl&state=completed")).rows[0]?.id;
    await expect.poll(ended, SOON).toBeDefined();
    await open(`runs/${await ended()}?tab=shape`);
    await expect.poll(() => page.locator(".state-box.is-completed").count(), SOON).toBe(4);
    await page.locator(".gantt-row", { hasText: "publish" }).getByText("completed").waitFor();
    // One that is never paid: those that are get it within three seconds.
    const unpaid = async (): Promise<string | null> => {
      const { rows: active } = await cluster.api("/machines?status=active");
      const old = (one: { createdAt: string; value: unknown }) =>
        one.value === "pending" && Date.now() - Date.parse(one.createdAt) > 6_000;
      return active.find(old)?.id ?? null;
    };
    await expect.poll(unpaid, SOON).not.toBeNull();
    await open(`machines/payment/${await unpaid()}`);
    await page.locator(".state-box.is-active", { hasText: "pending" }).waitFor();
    await expect.poll(() => page.locator("svg.drawing").textContent(), SOON).toMatch(/after 1m in \d\d:\d\d/);
  });

  test("a mode is switched, filters survive a reload, and a deep link opens", async () => {
    await open("nodes");
    await expect.poll(() => page.getByRole("button", { name: "Mode…" }).count(), SOON).toBeGreaterThan(1);
    await expect.poll(() => page.locator("tbody").first().textContent(), SOON).toMatch(/\d ms, \d+ MB/);
    await nodeRow(frozenNode).getByRole("button", { name: "Mode…" }).click();
    await page.locator("dialog[open] select").selectOption("trigger_only");
    await page.getByRole("button", { name: "Set the mode" }).click();
    await nodeRow(frozenNode).getByText("trigger_only").waitFor();
    await open("runs");
    await page.getByRole("button", { name: "in trouble" }).click();
    await expect.poll(() => page.url()).toContain("state=failed");
    await page.reload();
    await page.locator(".chip").waitFor();
    await open(`runs/${killed.slice(0, 18)}`);
    await page.locator(".story.is-lost").waitFor();
  });

  test("the pages are accessible in both themes, fit a phone and report no error", async () => {
    for (const path of ["nodes", `runs/${killed}`]) {
      await open(path);
      await expect.poll(() => page.locator(".loading").count(), SOON).toBe(0);
      await page.evaluate(`${AXE};null`);
      const violations = (options: string) =>
        page.evaluate(
          `axe.run(document, { resultTypes: ["violations"]${options} }).then(({ violations }) => violations.map(({ id }) => id))`,
        );
      expect(await violations(""), path).toEqual([]);
      await page.emulateMedia({ colorScheme: "dark" });
      expect(await violations(', runOnly: ["color-contrast"]'), `${path}, dark`).toEqual([]);
      await page.emulateMedia({ colorScheme: "light" });
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await page.evaluate("document.documentElement.scrollWidth"), path).toBeLessThanOrEqual(390);
      await page.setViewportSize({ width: 1280, height: 900 });
    }
    expect(problems).toEqual([]);
  });
});
