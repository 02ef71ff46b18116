// The built page over the real admin API with real nodes: live updates, a decision, verbs, and every page without an error.

import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Dashboard, dashboard } from "../../src/admin/dashboard.js";
import { createNode, type Node, workflow } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { deferred } from "../harness/deferred.js";
import { describeWith } from "../harness/require.js";
import { sharedDashboard } from "./shared-build.js";

const PAGES = [
  "",
  "runs",
  "nodes",
  "approvals",
  "dead",
  "queues",
  "schedules",
  "triggers",
  "machines",
  "timers",
  "leases",
];
const MORE = ["programs", "programs/order", "audit", "settings", "doctor"];

describeWith("browser", "the dashboard over the real API", (executablePath) => {
  const gate = deferred<void>();
  const order = workflow("order", async (ctx, input: { id: string }) => {
    await ctx.step("pack", () => input.id);
    await ctx.step("charge", () => gate.promise);
    const answer = await ctx.approval("ship", { ask: `Ship ${input.id}?`, to: "warehouse" });
    return answer.outcome;
  });
  const store = memoryStore();
  let built: string;
  let node: Node;
  let site: Dashboard;
  let url: string;
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    built = await sharedDashboard();
    node = await createNode({ store, programs: [order] });
    site = dashboard({ store, page: built, basePath: "/ops" });
    url = (await site.listen({ port: 0 })).url;
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    page = await browser.newPage();
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(`${page.url()}: ${message.text()}`);
    });
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    await node?.stop();
  });

  /** Without a reload. */
  const move = async (path: string) => {
    const address = JSON.stringify(`/ops/${path}`);
    await page.evaluate(`history.pushState(null, "", ${address}); dispatchEvent(new PopStateEvent("popstate"))`);
    await page.locator("main h1").first().waitFor();
  };
  const open = async (path: string) => {
    await page.goto(`${url.replace(/\/$/, "")}/${path}`);
    await page.locator("main h1").first().waitFor();
  };

  test("a run is followed live, decided in the inbox, and found in the audit", async () => {
    const run = await node.start(order, { id: "o-1" });
    await open(`runs/${run.id}`);
    await page.locator(".run-line .state.is-running").waitFor();
    await expect.poll(() => page.locator(".stream").textContent()).toContain("live");
    gate.resolve();
    await page.locator(".run-line .state.is-parked").waitFor();
    await expect
      .poll(() => page.locator(".row-name").allTextContents())
      .toEqual(expect.arrayContaining(["pack", "charge", "ship · approval"]));
    await open("approvals");
    await page.getByRole("heading", { name: "Ship o-1?" }).waitFor();
    await page.getByRole("button", { name: "approve" }).click();
    await expect.poll(() => run.result()).toBe("approved");
    await open("audit");
    await page.getByText("runs.decide").waitFor();
    expect(problems).toEqual([]);
  });

  test("a payload is shown on demand", async () => {
    const run = await node.start(order, { id: "o-2" });
    await open(`runs/${run.id}?tab=journal`);
    await page.getByRole("button", { name: /^show/ }).first().click();
    await page.getByText('"o-2"').first().waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.locator(".run-line .state.is-cancelled").waitFor();
    expect(problems).toEqual([]);
  });

  test.each([...PAGES, ...MORE])("/%s reads the real API without an error", async (path) => {
    await move(path);
    await expect.poll(() => page.locator(".loading").count()).toBe(0);
    expect(await page.locator(".problem").count()).toBe(0);
    expect(problems).toEqual([]);
  });
});
