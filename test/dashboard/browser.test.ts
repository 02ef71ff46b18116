// The dashboard in a real browser over the fixture: every page in both themes and on a phone, keys, filters, verbs, errors, and hostile text.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { RouteName } from "../../src/admin/api.js";
import { describeWith } from "../harness/require.js";
import { ANSWERS, Mistake } from "./fixture/answers.js";
import { uuid } from "./fixture/clock.js";
import { HOSTILE_PAGES, hostile } from "./fixture/hostile.js";
import { EMPTY, PAGES } from "./fixture/pages.js";
import { GRAPH, LONG, REFUSED, TAKEOVER } from "./fixture/runs.js";
import { type FixtureServer, serveFixture } from "./fixture/server.js";
import { sharedDashboard } from "./shared-build.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
interface AxeFinding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

describeWith("browser", "the dashboard in a browser", (executablePath) => {
  let built: string;
  let server: FixtureServer;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    built = await sharedDashboard();
    server = await serveFixture(built, "/ops/");
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
    page = await context.newPage();
    page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(`${page.url()}: ${message.text()}`);
    });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  beforeEach(() => {
    problems.length = 0;
    server.instead.clear();
    server.called.length = 0;
  });

  const open = async (path: string) => {
    await page.goto(server.url + path);
    await page.locator("main h1").first().waitFor();
    await loaded();
  };
  const loaded = () => expect.poll(() => page.locator(".loading").count()).toBe(0);
  /** Without a reload, so that axe is evaluated once. */
  const move = async (path: string) => {
    const address = JSON.stringify(`/ops/${path}`);
    await page.evaluate(
      `history.pushState(null, "", ${address}); dispatchEvent(new PopStateEvent("popstate")); scrollTo(0, 0)`,
    );
    await page.locator("main h1").first().waitFor();
    await loaded();
  };
  const axe = async (rules?: readonly string[]): Promise<string[]> => {
    const target = { rules: { "target-size": { enabled: true } } };
    const options = JSON.stringify({ resultTypes: ["violations"], ...(rules ? { runOnly: rules } : target) });
    if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(`${AXE};null`);
    const run = `axe.run(document, ${options}).then(({ violations }) => violations)`;
    const found = await page.evaluate<AxeFinding[]>(run);
    return found.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 2)
          .map(({ html }) => html.slice(0, 120))
          .join(" ")}`,
    );
  };

  test.each(PAGES)("/%s is accessible in both themes, fits a phone and reports no error", async (path) => {
    if (!page.url().startsWith(server.url)) await open("");
    await move(path);
    expect(await axe()).toEqual([]);
    // A table that is wider than its panel hides its last column, where the verbs are.
    const tooWide = '[...document.querySelectorAll(".table-box")].filter((box) => box.scrollWidth > box.clientWidth)';
    expect(await page.evaluate(`${tooWide}.map((box) => box.innerText)`)).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await axe(["color-contrast"])).toEqual([]);
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(problems).toEqual([]);
  });

  test("the owner lane shows the lost node, the time without an owner, and the refused write", async () => {
    await open(`runs/${REFUSED}`);
    const lane = await page.locator("svg.drawing").first().getAttribute("aria-label");
    expect(lane).toContain("node-c held claim 1");
    expect(lane).toContain("No node had it for 15 s");
    expect(lane).toContain("node-b held claim 2");
    await expect.poll(() => page.locator(".story.is-lost").textContent()).toContain("reclaimed by node-b");
    await expect
      .poll(() => page.locator(".story.is-refused").textContent())
      .toContain("1 late write of node-c under claim 1 refused");
  });

  test("filters are in the address and survive a reload", async () => {
    await open("runs");
    await page.getByRole("button", { name: "in trouble" }).click();
    await expect.poll(() => page.url()).toContain("state=failed%2Cdead%2Cquarantined");
    await page.reload();
    await page.locator(".chip").waitFor();
    await expect.poll(() => page.locator(".run-row .state").allTextContents()).not.toContain("completed");
    await page.getByRole("button", { name: "Remove the filter state" }).click();
    await expect.poll(() => page.url()).not.toContain("state=");
  });

  test("keys move in the list, open a run, search and show help", async () => {
    await open("runs");
    await page.locator(".run-row").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await expect.poll(() => page.locator(".select-bar").textContent()).toContain("1 selected");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain(`/runs/${TAKEOVER}`);
    await page.keyboard.press("/");
    await page.keyboard.type(TAKEOVER.slice(0, 8));
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("dialog[open]").count()).toBe(0);
    await page.keyboard.press("g");
    await page.keyboard.press("n");
    await page.getByRole("heading", { name: "Nodes", level: 1 }).waitFor();
  });

  test("a short id in the address and in the search finds the run", async () => {
    await open(`runs/${TAKEOVER.slice(0, 8)}`);
    await page.getByRole("heading", { name: "order:o-17" }).waitFor();
    await page.fill("#search", REFUSED.slice(0, 8));
    await page.press("#search", "Enter");
    await page.getByRole("heading", { name: "order:o-19" }).waitFor();
  });

  test("a phone reaches every page by the bottom bar", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open("");
    await page.getByRole("button", { name: "More" }).click();
    await page.locator("#more-pages").getByRole("link", { name: "Leases" }).click();
    await page.getByRole("heading", { name: "Leases", level: 1 }).waitFor();
    expect(await page.locator("#more-pages").isVisible()).toBe(false);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test("only visible rows exist", async () => {
    await open("runs");
    for (let i = 0; i < 3; i++) await page.getByRole("button", { name: "Older" }).click();
    await expect.poll(() => page.locator(".run-table").getAttribute("aria-rowcount")).toBe("328");
    expect(await page.locator(".run-row").count()).toBeLessThan(80);
  });

  test("a bulk action shows what it will change and asks for the number", async () => {
    await open("runs");
    await page.getByRole("button", { name: "All that fit…" }).click();
    const dialog = page.locator("dialog[open]");
    await dialog.getByText("would be changed").waitFor();
    const confirm = dialog.getByRole("button", { name: /^retry/ });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel(/to confirm/).fill("328");
    await confirm.click();
    await dialog.getByText("328 runs handled").waitFor();
    const [preview, ...steps] = server.called.filter(({ name }) => name.startsWith("bulk."));
    expect(preview?.input["filter"]).toHaveProperty("to");
    expect(steps.every(({ input }) => input["digest"] === "d-1")).toBe(true);
    await dialog.getByRole("button", { name: "Close" }).click();
  });

  test("every chip is sent: a filter that is shown is what a bulk action means", async () => {
    await open(`runs?key=order&node=node-b&parent=${TAKEOVER}`);
    await expect.poll(() => page.locator(".chip").count()).toBe(3);
    const wanted = { key: "order", node: "node-b", parent: TAKEOVER };
    await page.getByRole("button", { name: "All that fit…" }).click();
    await page.locator("dialog[open]").getByText("would be changed").waitFor();
    expect(server.called.findLast(({ name }) => name === "bulk.preview")?.input["filter"]).toMatchObject(wanted);
    await page.keyboard.press("Escape");
  });

  test("a definition is edited over the version that was read, after its changes were shown", async () => {
    await open("programs");
    await page.getByRole("button", { name: "Edit…" }).first().click();
    const body = page.getByLabel("Body (JSON)");
    const before = JSON.parse(await body.inputValue());
    await body.fill(JSON.stringify({ ...before, retries: 3 }));
    await page.getByRole("button", { name: "Compare…" }).click();
    await page.locator(".changes").getByText("+ retries: 3").waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await expect.poll(() => server.called.some(({ name }) => name === "definitions.save")).toBe(true);
    const saved = server.called.find(({ name }) => name === "definitions.save");
    expect(saved?.input).toMatchObject({ body: { retries: 3 }, over: expect.any(Number) });
  });

  test("a decision is bound to what was shown, and a conflict is a sentence", async () => {
    await open("approvals");
    const [first, second] = [page.locator(".approval").nth(0), page.locator(".approval").nth(1)];
    await first.getByLabel("Note").fill("fine");
    await first.getByRole("button", { name: "approve" }).click();
    await page.getByText("Decided: approve.").waitFor();
    expect(server.called.find(({ name }) => name === "runs.decide")?.input).toMatchObject({
      choice: "approve",
      note: "fine",
      shown: "9f3c51aa07de",
    });
    await second.getByRole("button", { name: "write" }).click();
    await second.getByText("bob decided this 4 s before you").waitFor();
  });

  test("a question whose answer is data takes JSON, and says what is none before it sends it", async () => {
    server.instead.set("runs.decide", () => ({ outcome: "decided" }));
    await open("approvals");
    const question = page.getByRole("article", { name: "Which tone?" });
    const answers = () => server.called.filter(({ name }) => name === "runs.decide");
    await question.getByLabel("Answer (JSON)").fill("dry");
    await question.getByRole("button", { name: "Answer" }).click();
    await question.getByText("The data is not JSON").waitFor();
    expect(answers()).toEqual([]);
    await question.getByLabel("Answer (JSON)").fill('{"tone":"dry"}');
    await question.getByRole("button", { name: "Answer" }).click();
    await expect.poll(answers).toHaveLength(1);
    expect(answers()[0]?.input).toMatchObject({ choice: "answered", nth: "1.q2", data: { tone: "dry" } });
    const gate = page.getByRole("article", { name: "Ship o-17?" });
    await gate.getByText("Send data with the choice").click();
    await gate.getByLabel("Data (JSON)").fill('{"parcels":1}');
    await gate.getByRole("button", { name: "approve" }).click();
    await expect.poll(() => answers().at(-1)?.input).toMatchObject({ choice: "approve", data: { parcels: 1 } });
  });

  test("markup in a payload is shown as text", async () => {
    await open(`runs/${TAKEOVER}?tab=journal`);
    await page.getByRole("button", { name: /^show/ }).first().click();
    await page.getByText("<img src=x onerror=alert(1)>").waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test("markup in every field that a person can write is shown as text", async () => {
    for (const [name, make] of Object.entries(ANSWERS)) {
      if (name !== "session.get") server.instead.set(name as RouteName, (input) => hostile(make(input)));
    }
    await open("");
    for (const path of HOSTILE_PAGES) {
      await move(path);
      await expect.poll(() => page.locator("main").textContent()).toContain("<img src=x");
      expect(await page.locator("main img, main script").count()).toBe(0);
    }
    expect(problems).toEqual([]);
  });

  test("a long history is drawn in a few rows, with the middle on demand", async () => {
    await open(`runs/${LONG}`);
    await page.getByText("19 600 entries in the middle are not drawn.").waitFor();
    expect(await page.locator(".row-name").count()).toBeLessThan(6);
    await page.getByRole("button", { name: "Read more" }).click();
    await page.getByText("19 100 entries in the middle are not drawn.").waitFor();
  });

  test("a graph steps through its visits", async () => {
    await open(`runs/${GRAPH}?tab=shape&at=search:1`);
    await page.getByRole("heading", { name: "Visit search:1" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("heading", { name: "Visit plan:2" }).waitFor();
    await expect.poll(() => page.url()).toContain("at=plan%3A2");
  });

  test("a store that is away greys the page and keeps its figures; a pruned run says so", async () => {
    await open("doctor");
    server.instead.set("doctor.get", () => {
      throw new Mistake(503, "STORE_AWAY", "The database does not answer.");
    });
    await page.getByRole("button", { name: "Look again" }).click();
    await page.getByText("What you see is from").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(5);
    await page.goto(`${server.url}runs/${uuid(999_999)}`);
    await page.getByText("It may have been pruned.").waitFor();
    // The page asks for the run again and again.
    await open("");
  });

  test.each(EMPTY)("an empty /%s says what is missing", async (path, routes) => {
    for (const [name, answer] of Object.entries(routes)) server.instead.set(name as RouteName, () => answer);
    await move(path);
    await page.locator(".empty-title").first().waitFor();
    expect(problems).toEqual([]);
  });

  test("a page that cannot be read says why, with the request's id", async () => {
    server.instead.set("queues.list", () => {
      throw new Mistake(500, "INTERNAL", "It broke.");
    });
    await open("queues");
    await page.getByText("INTERNAL · request r-1").waitFor();
    server.instead.clear();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("link", { name: "mail" }).waitFor();
  });

  test("a person without the permission sees why a verb is grey", async () => {
    server.instead.set("session.get", () => ({
      id: "eve",
      name: "eve",
      may: ["see"],
      envs: ["default"],
      groups: null,
      version: "0.1.0",
      now: new Date().toISOString(),
      live: true,
      dev: false,
    }));
    await open(`runs/${TAKEOVER}`);
    const cancel = page.getByRole("button", { name: "Cancel" });
    await expect.poll(() => cancel.getAttribute("title")).toBe("Needs the permission operate");
    expect(await cancel.isDisabled()).toBe(true);
  });

  test("a server that wants a token asks for it once", async () => {
    let asked = 0;
    server.instead.set("session.get", () => {
      if (asked++ === 0) throw new Mistake(401, "UNAUTHENTICATED", "A token is needed.");
      return {
        id: "ann",
        name: "ann",
        may: ["see"],
        envs: ["default"],
        groups: null,
        version: "0.1.0",
        now: new Date().toISOString(),
        live: true,
        dev: false,
      };
    });
    await page.goto(server.url);
    await page.getByLabel("Token").fill("hf_example");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.evaluate("sessionStorage.clear()");
  });

  test("the theme can be set, and the env stays on every link", async () => {
    await open("?env=staging");
    await page.getByRole("button", { name: /^Theme/ }).click();
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    await page.evaluate("localStorage.clear()");
    await page.getByRole("link", { name: "Runs", exact: true }).first().click();
    await expect.poll(() => page.url()).toContain("env=staging");
  });
});
