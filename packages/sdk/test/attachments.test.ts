import { type Agent, AgentId, type AgentRunContext, type Middleware, type ModelRequest } from "@ravi/kernel";
import { loopbackAnthropic, loopbackOpenAI, scriptedModel } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import { agent, estimate, model as named, run, team } from "@ravi/sdk";

const picture = { type: "image", url: "data:image/png;base64,iVBORw0KGgo=", mediaType: "image/png" } as const;
const attachments = [picture];
const given = { attachments };

/** How often the picture is in each request. */
const seenBy = (model: { readonly calls: readonly { readonly request: ModelRequest }[] }): number[] =>
  model.calls.map(({ request }) => JSON.stringify(request.messages).split(picture.url).length - 1);

const answers = (text: string) => scriptedModel(() => text);

describe("what came with the input is sent to the model", () => {
  test("of a member of a team, if it inherits it", async () => {
    const lead = () =>
      scriptedModel([
        {
          toolCalls: [
            { name: "handoff_near", arguments: { task: "look" } },
            { name: "handoff_far", arguments: { task: "look" } },
          ],
        },
        "Done.",
      ]);
    const [near, far] = [answers("near"), answers("far")];
    const model = lead();
    const members = [
      { agent: agent({ name: "near", model: near }), attachments: "inherit" },
      agent({ name: "far", model: far }),
    ] as const;
    await run(team({ name: "lead", model, members }), "What is this?", given);
    expect([seenBy(model), seenBy(near), seenBy(far)]).toEqual([[1, 1], [1], [0]]);
    const wrong = [{ agent: agent({ name: "near", model: near }), attachments: "no" as never }];
    expect(() => team({ name: "lead", model, members: wrong })).toThrow(/attachments/);
  });

  test("of a helper that the model defines, if helpers inherit it", async () => {
    const hire = { name: "eye", instructions: "Look.", task: "look", tools: [] };
    const helpers = answers("a cat");
    const model = scriptedModel([{ toolCalls: [{ name: "hire_helper", arguments: hire }] }, "Done."]);
    const lead = team({
      name: "lead",
      model,
      dynamicHiring: { model: helpers, attachments: "inherit" },
    });
    await run(lead, "What is this?", given);
    expect(seenBy(helpers)).toEqual([1]);
    const wrong = { model: helpers, attachments: "all" as never };
    expect(() => team({ name: "lead", model, dynamicHiring: wrong })).toThrow(
      /dynamicHiring\.attachments is "all"/,
    );
  });
});

describe("over HTTP", () => {
  const look = { name: "seer", instructions: "Look." };

  test("OpenAI's Responses API and Chat Completions get it as an image", async () => {
    await using server = await loopbackOpenAI({ script: () => "A cat." });
    for (const api of ["responses", "chat"] as const) {
      const client = named("openai:gpt-5.2", { baseURL: server.url, apiKey: "sk-loopback", api });
      const { output } = await run(agent({ ...look, model: client }), "What is this?", given);
      expect(output).toBe("A cat.");
    }
    const sent = server.requests.map(({ body }) => JSON.stringify(body).split(picture.url).length - 1);
    expect(sent).toEqual([1, 1]);
  });

  test("Anthropic gets it as an image", async () => {
    await using server = await loopbackAnthropic({ script: () => "A cat." });
    const client = named("anthropic:claude-sonnet-5", { baseURL: server.url, apiKey: "sk-loopback" });
    const seer = agent({ ...look, model: client });
    expect((await run(seer, "What is this?", given)).output).toBe("A cat.");
    expect(JSON.stringify(server.requests[0]?.body)).toContain('"data":"iVBORw0KGgo="');
  });
});

test("estimate counts it", async () => {
  const seer = agent({ name: "seer", model: answers("A cat."), settings: { maxOutputTokens: 100 } });
  const plain = await estimate(seer, "What is this?");
  const more = await estimate(seer, "What is this?", given);
  expect(more.tokens).toBeGreaterThan((plain.tokens ?? 0) + 1_000);
  await expect(estimate(seer, "", { attachments: "x" as never })).rejects.toThrow(/attachments/);
});

test("a layer around the run sees it, and may refuse it", async () => {
  const client = answers("A cat.");
  const seen: unknown[] = [];
  const noPictures: Middleware<AgentRunContext> = {
    name: "no-pictures",
    level: "agent",
    admit(context) {
      seen.push(context.attachments);
      context.result = { status: "partial", output: "no pictures, please", stopReason: "done" };
    },
    process: (_, next) => next(),
  };
  const seer = agent({ name: "seer", model: client, middleware: { agent: [noPictures] } });
  expect((await run(seer, "What is this?", given)).output).toBe("no pictures, please");
  expect(seen).toEqual([attachments]);
  expect(client.calls).toEqual([]);
});

test("an agent of one's own reads it from its inbox", async () => {
  const own: Agent = {
    id: AgentId("own"),
    run: async (_, inbox) => ({
      status: "completed",
      output: JSON.stringify(inbox.attachments),
      stopReason: "done",
    }),
  };
  expect(JSON.parse((await run(own, "", given)).output)).toEqual(attachments);
});
