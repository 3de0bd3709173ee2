import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ConsoleMessage, Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { type OpenPage, openPage, type PageOptions, type WatchedRuns } from "@ravi/devtools";
import {
  type Agent,
  type AgentAccount,
  AgentId,
  type AgentResult,
  ExecId,
  executionBudget,
  type JsonValue,
  type PendingWait,
  Priority,
  type RunContext,
  RunId,
  type RunReport,
  textOf,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { PAYLOADS } from "./payloads.ts";
import { button, choose, tab, table, useBrowser } from "./browser.ts";

useBrowser();

const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
const agentOf = (name: string, run: (ctx: RunContext) => Promise<AgentResult>): Agent => ({
  id: AgentId(name),
  run,
});

/** Asks for a colour, and says it. */
const painter = agentOf("painter", async (ctx) => done(JSON.stringify(await ctx.waitFor("colour"))));

function runtimeWithJournal(): Runtime {
  const runtime = new Runtime({ journal: new MemoryJournal() });
  onTestFinished(() => runtime.close());
  return runtime;
}

async function opened(runs: WatchedRuns, options?: PageOptions): Promise<OpenPage> {
  const page = await openPage(runs, options);
  onTestFinished(() => page.close());
  return page;
}

const log = (page: Page): Promise<string[]> =>
  page.getByRole("list", { name: "Log" }).getByRole("listitem").allInnerTexts();

test("a run is seen while it works: who was hired, what was said, what each has used", async () => {
  const runtime = runtimeWithJournal();
  const model = scriptedModel(() => "The sky is blue.");
  const helper = agentOf("helper", async (ctx) => {
    const { message } = await ctx.llm(model, { messages: [{ role: "user", content: "Which colour?" }] });
    return done(textOf(message));
  });
  const lead = agentOf("lead", async (ctx) => {
    await ctx.hire({ agent: helper, input: "Look up" });
    return done(JSON.stringify(await ctx.waitFor("go on")));
  });
  const page = await tab((await opened(runtime)).url);
  const handle = runtime.run(lead, "Describe the sky");
  await choose(page, "lead");
  await page.getByRole("region", { name: "lead waits for an answer" }).waitFor();
  expect(page.url()).not.toContain("key=");
  const [, first = "", second = ""] = await table(page);
  expect(first).toMatch(/^lead\s+running/);
  expect(second).toMatch(/^helper\/1\s+completed\s+normal\s+1\s+0/);
  expect((await log(page)).join("\n")).toContain("The sky is blue.");
  expect(await page.getByRole("list", { name: "Calls" }).getByRole("listitem").count()).toBe(1);

  await page.getByRole("textbox", { name: /^Answer/ }).fill("fine");
  await button(page, "Send").click();
  await page.locator("h2 .badge.completed").waitFor();
  expect((await handle.result).output).toBe('"fine"');
  expect(await page.getByText("waits for an answer").count()).toBe(0);
  expect(await button(page, "Cancel the run").count()).toBe(0);

  // The key is kept for this tab, and the run is in the address.
  await page.reload();
  await page.locator("h2 .badge.completed").waitFor();
  await expect.poll(async () => (await log(page)).join("\n")).toContain("The sky is blue.");
});

test("the only run is shown at once; of several, one has to be chosen", async () => {
  const runtime = runtimeWithJournal();
  const { url } = await opened(runtime);
  const page = await tab(url);
  await page.getByText("Choose a run.").waitFor();
  runtime.run(painter, "Paint");
  await page.getByRole("region", { name: "painter waits for an answer" }).waitFor();

  runtime.run(painter, "Paint again");
  const second = await tab(url);
  await second
    .getByRole("button", { name: /^painter/ })
    .nth(1)
    .waitFor();
  expect(await second.getByText("Choose a run.").count()).toBe(1);
});

test("what is being typed stays while the run goes on", async () => {
  const runtime = runtimeWithJournal();
  const page = await tab((await opened(runtime)).url);
  const handle = runtime.run(painter, "");
  await choose(page, "painter");
  const field = page.getByRole("textbox", { name: /^Answer/ });
  await field.fill("bl");
  // Another run begins, and is listed.
  void runtime.run(
    agentOf("other", async () => done("")),
    "",
  ).result;
  await button(page, /^other/).waitFor();
  await page.waitForResponse(/\/api\/runs\?/);
  expect(await field.inputValue()).toBe("bl");
  await field.pressSequentially("ue");
  await button(page, "Send").click();
  expect((await handle.result).output).toBe('"blue"');
});

test("what is being typed for one wait stays when others begin, are answered, or get their turn", async () => {
  const { runs } = waitingRun([]);
  const first = wait({ kind: "signal", name: "first", since: 1 });
  const second = wait({ kind: "signal", name: "second", since: 2 });
  // Of the same name as the first: the first gets the next answer.
  const third = wait({ kind: "signal", name: "first", since: 3 });
  let report = reportOf({ waitingFor: [first, second] });
  const { url } = await opened({ ...runs, list: () => [report], inspect: () => report });
  const page = await tab(url);
  await choose(page, "lead");
  const waits = page.getByRole("region", { name: "lead waits for an answer" });
  const field = waits.filter({ hasText: "second" }).getByRole("textbox");
  await field.fill("bl");
  for (const waitingFor of [[first, second, third], [second, third], [second]]) {
    report = reportOf({ waitingFor });
    await expect.poll(() => waits.count()).toBe(waitingFor.length);
    expect(await waits.locator(".quiet").allInnerTexts()).toEqual(waitingFor.map(({ name }) => name));
    expect(await field.inputValue()).toBe("bl");
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    // The one that has waited longest for that name can be answered.
    const names = new Set(waitingFor.map(({ name }) => name));
    expect(await waits.getByRole("textbox").count()).toBe(names.size);
  }
});

test("a run is cancelled for a reason that is asked for first", async () => {
  const runtime = runtimeWithJournal();
  const handle = runtime.run(painter, "");
  const page = await tab((await opened(runtime)).url);
  await choose(page, "painter");
  page.once("dialog", (dialog) => void dialog.dismiss());
  await button(page, "Cancel the run").click();
  expect(await page.locator("h2 .badge.cancelled").count()).toBe(0);
  page.once("dialog", (dialog) => void dialog.accept("wrong door"));
  await button(page, "Cancel the run").click();
  await page.locator("h2 .badge.cancelled").waitFor();
  expect((await handle.result).error?.message).toContain("wrong door");
});

const execId = ExecId(RunId("run"));
const agentId = AgentId("lead");
const wait = (more: Partial<PendingWait>): PendingWait => ({
  kind: "approval",
  name: "approval:tool:1:0",
  agentId,
  execId,
  since: 7,
  ...more,
});

/** One run that waits, and what is delivered to it. */
function waitingRun(waitingFor: readonly PendingWait[], more: Partial<RunReport> = {}) {
  const delivered: [string, JsonValue][] = [];
  const report = reportOf({ waitingFor, ...more });
  const runs: WatchedRuns = {
    list: () => [report],
    inspect: () => report,
    recordedEvents: () => [],
    deliver: (_, name, value) => void delivered.push([name, value]),
    cancel: () => {},
  };
  return { runs, delivered };
}

function reportOf(more: Partial<RunReport>): RunReport {
  const account: AgentAccount = {
    execId,
    agentId,
    parent: null,
    priority: Priority.NORMAL,
    status: "suspended",
    usage: { inputTokens: 1, outputTokens: 1 },
    costUsd: 0.01,
    modelCalls: 1,
    toolCalls: 0,
    retries: 0,
    wasteUsd: 0,
  };
  return {
    runId: RunId("run"),
    agent: "lead@1",
    status: "suspended",
    startedAt: 1,
    updatedAt: 2,
    entries: 3,
    input: "go",
    usage: account.usage,
    cost: 0.01,
    limits: { spawnBudget: null, executionBudget: executionBudget({ maxCostUsd: 1 }) },
    agents: [account],
    calls: [],
    inDoubt: [],
    ...more,
  };
}

test.each([
  [{}, "none: it goes on when it is resumed"],
  [{ cancelReason: "too dear" }, "none: it ends when it is resumed"],
])("of a run that no process has it is said what a resume would do: %j", async (more, said) => {
  const { runs } = waitingRun([], more);
  const page = await tab((await opened(runs)).url);
  await choose(page, "lead");
  await expect.poll(() => page.locator(".fact").allInnerTexts()).toContain(`process\n${said}`);
});

test("a tool call is shown with its arguments, and allowed or refused with a reason", async () => {
  const question = { tool: "refund", callId: "c", arguments: { usd: 50 } };
  const { runs, delivered } = waitingRun([wait({ question })]);
  const page = await tab((await opened(runs)).url);
  await choose(page, "lead");
  await page.getByText('refund {\n  "usd": 50\n}').waitFor();
  await button(page, "Approve").click();
  await page.getByRole("textbox", { name: /^Reason/ }).fill("too much");
  await button(page, "Deny").click();
  await expect.poll(() => delivered).toHaveLength(2);
  expect(delivered).toEqual([
    ["approval:tool:1:0", true],
    ["approval:tool:1:0", { approved: false, reason: "too much" }],
  ]);
});

test("why an answer was refused stays to be read, until the next answer", async () => {
  const { runs } = waitingRun([wait({})]);
  const refusals = ["somebody else has answered it"];
  const deliver = (): void => {
    const [why] = refusals.splice(0);
    if (why !== undefined) throw new Error(why);
  };
  const page = await tab((await opened({ ...runs, deliver })).url, /500/);
  await choose(page, "lead");
  await button(page, "Approve").click();
  const status = page.getByRole("status");
  await expect.poll(() => status.innerText()).toBe("somebody else has answered it");
  for (let looks = 0; looks < 2; looks++) await page.waitForResponse(/\/api\/runs\?/);
  expect(await status.innerText()).toBe("somebody else has answered it");
  await button(page, "Approve").click();
  await expect.poll(() => status.innerText()).toBe("");
});

test("of a run that cannot be shown nothing is seen, least of all the buttons of the one before", async () => {
  const { runs } = waitingRun([wait({})]);
  const list = () => [
    reportOf({ waitingFor: [wait({})] }),
    reportOf({ runId: RunId("bad"), agent: "bad@1" }),
  ];
  const inspect = (runId: string): RunReport => {
    if (runId === "bad") throw new Error("record 3 is damaged");
    return reportOf({ waitingFor: [wait({})] });
  };
  const page = await tab((await opened({ ...runs, list, inspect })).url, /500/);
  await choose(page, "lead");
  await button(page, "Approve").waitFor();
  await choose(page, "bad");
  await expect.poll(() => page.getByRole("status").innerText()).toBe("record 3 is damaged");
  expect(await button(page, "Approve").count()).toBe(0);
  await page.goBack();
  await button(page, "Approve").waitFor();
  await page.goBack();
  await page.getByText("Choose a run.").waitFor();
  expect(await button(page, "Approve").count()).toBe(0);
});

test("a run that was left and chosen again while it was read is shown", async () => {
  const { runs } = waitingRun([]);
  const reports = ["run", "other"].map((id) => reportOf({ runId: RunId(id), agent: `${id}@1` }));
  const asked = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  let isFirst = true;
  const { url } = await opened({
    ...runs,
    list: () => reports,
    inspect: (runId) => reports.find((report) => report.runId === runId) ?? reportOf({}),
    recordedEvents: async () => {
      if (!isFirst) return [];
      isFirst = false;
      asked.resolve();
      await read.promise;
      return [];
    },
  });
  const page = await tab(url);
  await choose(page, "run");
  await asked.promise;
  await choose(page, "other");
  await choose(page, "run");
  await page.getByText("Reading the run …").waitFor();
  read.resolve();
  await expect.poll(() => page.locator("main h2").allInnerTexts()).toContain("run@1 suspended");
});

test("the list keeps the focus while its runs grow older, others begin, and one is chosen", async () => {
  const { runs } = waitingRun([]);
  const begunAt = Date.now();
  const listed = [reportOf({ startedAt: begunAt, waitingFor: [] })];
  const page = await tab((await opened({ ...runs, list: () => listed })).url);
  const lead = page.getByRole("navigation").getByRole("button", { name: /^lead/ });
  await lead.focus();
  const before = await lead.innerText();
  await expect.poll(() => lead.innerText()).not.toBe(before);
  const isFocused = (): Promise<boolean> => lead.evaluate((element) => element === document.activeElement);
  expect(await isFocused()).toBe(true);
  listed.push(reportOf({ runId: RunId("other"), agent: "other@1", startedAt: begunAt + 1 }));
  await button(page, /^other/).waitFor();
  expect(await isFocused()).toBe(true);
  await page.keyboard.press("Enter");
  await page.locator("main h2").first().waitFor();
  expect(await lead.getAttribute("aria-current")).toBe("true");
  expect(await isFocused()).toBe(true);
});

test("an answer that may not have arrived can be given again, and the page says so", async () => {
  const { runs, delivered } = waitingRun([wait({})]);
  const page = await tab((await opened(runs)).url, /ERR_FAILED/);
  await choose(page, "lead");
  await page.route(/\/answers$/, (route) => route.abort(), { times: 1 });
  await button(page, "Approve").click();
  const status = page.getByRole("status");
  await expect.poll(() => status.innerText()).toMatch(/^The server did not answer\. .* again/);
  await button(page, "Approve").click();
  await expect.poll(() => status.innerText()).toBe("");
  expect(delivered).toEqual([["approval:tool:1:0", true]]);
});

test("a run of another shape than the page knows is not taken for a server that is gone", async () => {
  const { runs } = waitingRun([]);
  const inspect = (): RunReport => ({ ...reportOf({}), usage: null as never });
  const page = await tab((await opened({ ...runs, inspect })).url);
  await choose(page, "lead");
  await expect.poll(() => page.getByRole("status").innerText()).toContain("inputTokens");
});

test("more budget is granted as an amount", async () => {
  const { runs, delivered } = waitingRun([wait({ name: `approval:budget:${execId}` })]);
  const page = await tab((await opened(runs)).url);
  await choose(page, "lead");
  await button(page, "Grant").click();
  await page.getByRole("textbox", { name: "Dollars to add" }).fill("2.5");
  await button(page, "Grant").click();
  await button(page, "Deny").click();
  await expect.poll(() => delivered).toHaveLength(2);
  expect(delivered).toEqual([
    [`approval:budget:${execId}`, { cost: 2.5 }],
    [`approval:budget:${execId}`, false],
  ]);
});

test("so is more of what else was used up; what is no amount is not sent", async () => {
  const { runs, delivered } = waitingRun([wait({ name: `approval:budget:${execId}` })]);
  const page = await tab((await opened(runs)).url);
  await choose(page, "lead");
  const amount = page.getByRole("textbox", { name: "Dollars to add" });
  const isValid = (): Promise<boolean> =>
    amount.evaluate((input) => (input as HTMLInputElement).validity.valid);
  await amount.fill("five");
  await button(page, "Grant").click();
  expect(await isValid()).toBe(false);
  await amount.fill('{"tokens": 1000}');
  await button(page, "Grant").click();
  await expect.poll(() => delivered).toEqual([[`approval:budget:${execId}`, { tokens: 1000 }]]);
  expect(await isValid()).toBe(true);
});

test("a decision cannot be made here: the page says how", async () => {
  const { runs } = waitingRun([wait({ kind: "decision", name: "run:tool:1:0" })]);
  const page = await tab((await opened(runs)).url);
  await choose(page, "lead");
  await page.getByText('Resume the run with decisions: { "run:tool:1:0": "retry" }').waitFor();
  expect(await button(page, /Approve|Deny|Send/).count()).toBe(0);
});

test("a page that only looks has no buttons but those that choose", async () => {
  const { runs } = waitingRun([wait({}), wait({ kind: "signal", name: "colour" })]);
  const page = await tab((await opened(runs, { readOnly: true })).url);
  await choose(page, "lead");
  await page.getByRole("region", { name: "lead waits for an answer" }).waitFor();
  expect(await page.locator("main button, main input").count()).toBe(0);
});

test("T14: nothing that models, tools, users and errors say becomes more than text", async () => {
  const all = PAYLOADS.join("\n");
  const report = reportOf({
    agent: `${PAYLOADS[1]}@1`,
    input: all,
    tenantId: all,
    error: { code: null, message: all },
    heldBy: { owner: all },
    inDoubt: PAYLOADS,
    waitingFor: PAYLOADS.map((text) => wait({ kind: "signal", name: text, question: text })),
    calls: PAYLOADS.map((text) => ({
      execId,
      key: text,
      kind: "tool",
      name: text,
      status: "ok",
      startedAt: 1,
      endedAt: 2,
    })),
  });
  const events = PAYLOADS.map((text, seq) => ({
    seq,
    at: 1,
    agentId,
    execId,
    event: { type: "text", delta: text } as const,
  }));
  const runs: WatchedRuns = {
    ...waitingRun([]).runs,
    list: () => [report],
    inspect: () => report,
    recordedEvents: () => events,
  };
  const page = await tab((await opened(runs)).url);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.getByRole("navigation").getByRole("button").first().click();
  await page
    .getByText(PAYLOADS.at(-1) ?? "")
    .first()
    .waitFor();
  const lines = page.getByRole("list", { name: "Log" }).locator(".said");
  await expect.poll(() => lines.count()).toBe(PAYLOADS.length);
  expect(await lines.evaluateAll((items) => items.map(({ textContent }) => textContent))).toEqual(PAYLOADS);
  const tags = await page.locator("main *").evaluateAll((items) => items.map(({ tagName }) => tagName));
  const ours = "BUTTON DIV H2 INPUT LI OL P PRE SECTION SPAN STRONG TABLE TBODY TD TH THEAD TR".split(" ");
  expect([...new Set(tags)].toSorted()).toEqual(ours);
  expect(asked.filter((path) => !/^\/(?:api\/runs|icon\.svg$)/.test(path))).toEqual([]);
});

test("T14: no other site can show the page in a frame", async () => {
  const { url } = await opened(waitingRun([wait({})]).runs);
  const other = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(`<iframe src="${url}"></iframe>`);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const page = await tab("about:blank", /frame-ancestors/);
  const isRefusal = (line: ConsoleMessage): boolean => line.text().includes("frame-ancestors 'none'");
  await Promise.all([
    page.waitForEvent("console", isRefusal),
    page.goto(`http://localhost:${(other.address() as AddressInfo).port}`),
  ]);
  expect(await page.frameLocator("iframe").locator("button").count()).toBe(0);
});

test("T14: without its key the page says what to do; when the server is gone it says so", async () => {
  const first = await opened(waitingRun([wait({})]).runs);
  const page = await tab(first.url.replace(/#.*/, ""), /401|ERR_CONNECTION_REFUSED/);
  await page.getByText("open the page by the whole address that was printed").waitFor();
  await page.goto(first.url);
  await choose(page, "lead");
  await first.close();
  await expect
    .poll(() => page.getByRole("status").innerText())
    .toBe("The server does not answer. Trying again …");
});
