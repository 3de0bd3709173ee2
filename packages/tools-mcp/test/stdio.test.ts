import type { RunEvent } from "@ravi/kernel";
import { openMcp } from "@ravi/tools-mcp";
import { describe, expect, test } from "vitest";
import { ask, failureOf, isAlive, server, told, toolIn, underWay } from "./support.ts";

describe("a server that was made with the official package", () => {
  test("its tools have names that providers accept, its descriptions, and what its annotations say", async () => {
    await using offers = await openMcp(server("offers"), { prefix: "shop_" });
    expect(offers.name).toBe("offers");
    expect(offers.instructions).toBe("Look up before you accept.");
    expect(offers.tools.map(({ name }) => name)).toEqual([
      "shop_all",
      "shop_change",
      "shop_offers_accept",
      "shop_offers_look_up",
      "shop_steps",
    ]);
    expect(toolIn(offers.tools, "shop_offers_look_up")).toMatchObject({
      description: "What a vendor asks, in dollars.",
      idempotent: true,
      needsApproval: false,
      timeoutS: 60,
    });
    expect(toolIn(offers.tools, "shop_offers_accept")).toMatchObject({ idempotent: false });
  });

  test("data is told as data, an error as an error, and wrong arguments are not sent", async () => {
    await using offers = await openMcp(server("offers"));
    const lookUp = (vendor: unknown) => ask(offers, "offers_look_up", { vendor });
    expect(await lookUp("acme")).toMatchObject({ content: '{"usd":4980}', isError: false });
    expect(await lookUp("borealis")).toEqual({
      content: "error: no offer of borealis on record",
      isError: true,
    });
    expect(await lookUp(7)).toEqual({
      content: "error: invalid arguments for offers_look_up: vendor: is a number; expected a string",
      isError: true,
    });
  });

  test("pictures and files are shown, texts told, and a link is told and not followed", async () => {
    await using offers = await openMcp(server("offers"));
    expect(await told(offers, "all")).toEqual([
      { type: "text", text: "here" },
      { type: "image", url: expect.stringMatching(/^data:image\/png;base64,iVBOR/), mediaType: "image/png" },
      { type: "file", url: "data:audio/wav;base64,UklGRg==", mediaType: "audio/wav" },
      { type: "text", text: "a note" },
      {
        type: "file",
        url: "data:application/pdf;base64,JVBERg==",
        mediaType: "application/pdf",
        name: "plan.pdf",
      },
      { type: "text", text: "[resource https://evil.example/x.png, x, image/png]" },
    ]);
  });

  test("progress is an event of the run", async () => {
    await using offers = await openMcp(server("offers"));
    const events: RunEvent[] = [];
    await ask(offers, "steps", {}, { onEvent: (event) => events.push(event) });
    expect(events.map(({ event }) => event)).toEqual(
      [1, 2].map((done) => ({
        type: "progress",
        callId: "call",
        name: "steps",
        data: { done, of: 2, message: `step ${done}` },
      })),
    );
  });

  test("only what was chosen is there, and a name that the server does not have is refused", async () => {
    await using some = await openMcp(server("offers"), { include: ["all", "steps"], exclude: ["all"] });
    expect(some.tools.map(({ name }) => name)).toEqual(["steps"]);
    expect(some.manifest.tools.map(({ name }) => name)).toEqual(["steps"]);
    const failure = await failureOf(openMcp(server("offers"), { exclude: ["offers_accept"] }));
    expect(failure.message).toBe(
      'exclude is "offers_accept"; expected the name of one of the server\'s tools, which are: "all", "change", "offers.accept", "offers.look_up", "steps"',
    );
  });

  test("a function says which tools need an approval", async () => {
    await using offers = await openMcp(server("offers"), {
      needsApproval: ({ annotations }) => annotations?.destructiveHint === true,
    });
    expect(offers.tools.filter(({ needsApproval }) => needsApproval).map(({ name }) => name)).toEqual([
      "offers_accept",
    ]);
    expect((await ask(offers, "offers_accept", { vendor: "acme" })).content).toMatch(/needs approval/);
  });
});

describe("a process", () => {
  test("progress that comes in one piece with the answer is told too", async () => {
    await using raw = await openMcp(server("raw"));
    const events: RunEvent[] = [];
    await ask(raw, "quick", {}, { onEvent: (event) => events.push(event) });
    expect(events.map(({ event }) => event)).toEqual([
      { type: "progress", callId: "call", name: "quick", data: { done: 1, of: null } },
    ]);
  });

  test("all pages of a list are read, and a list without end is refused", async () => {
    await using whole = await openMcp(server("raw"));
    await using pages = await openMcp(server("raw", "pages"));
    expect(pages.manifest).toEqual(whole.manifest);
    const failure = await failureOf(openMcp(server("raw", "endless")));
    expect(failure).toMatchObject({
      code: "TOOL_ERROR",
      message: expect.stringContaining("listMaxPages (64)"),
    });
  });

  test("it gets a few variables and those that are given, and no others", async () => {
    process.env["RAVI_TEST_OTHER"] = "kept here";
    try {
      await using raw = await openMcp({ ...server("raw"), env: { LEVEL: "7" } });
      const env: unknown = JSON.parse(String(await told(raw, "env")));
      expect(env).toMatchObject({ LEVEL: "7", PATH: process.env["PATH"] });
      expect(env).not.toHaveProperty("RAVI_TEST_OTHER");
      expect(env).not.toHaveProperty("NODE_COMPILE_CACHE");
    } finally {
      delete process.env["RAVI_TEST_OTHER"];
    }
  });

  test("it runs in the folder that is given", async () => {
    const { command, args = [] } = server("raw");
    await using raw = await openMcp({ command, args, cwd: "/" });
    expect(JSON.parse(String(await told(raw, "env")))).toMatchObject({ PATH: process.env["PATH"] });
    const failure = await failureOf(openMcp({ command, args, cwd: "/no/such/folder" }));
    expect(failure.message).toMatch(/^the MCP server node could not be reached: it could not be started: /);
  });

  test("T4: it is gone when it was closed, and a call under way fails", async () => {
    const raw = await openMcp(server("raw"));
    const pid = Number(await told(raw, "pid"));
    expect(isAlive(pid)).toBe(true);
    const { hanging } = await underWay(raw, "hang");
    await Promise.all([raw.close(), raw.close()]);
    expect(isAlive(pid)).toBe(false);
    expect((await hanging).content).toMatch(
      /^error: the connection to the MCP server "raw" was lost \(it was closed\)/,
    );
    expect((await ask(raw, "echo")).content).toBe("error: the MCP server node was closed");
  });

  test("a call that was starting it anew when it was closed says so", async () => {
    const raw = await openMcp(server("raw"));
    await told(raw, "die");
    const asking = ask(raw, "echo");
    await raw.close();
    expect((await asking).content).toMatch(/^error: the MCP server node .*was closed$/);
  });
});
