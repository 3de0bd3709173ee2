import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { AnthropicOptions } from "@ravi/provider-anthropic";
import type { OpenAIOptions } from "@ravi/provider-openai";
import { loopbackAnthropic, loopbackOpenAI, scriptedModel } from "@ravi/testing";
import { afterEach, describe, expect, expectTypeOf, test, vi } from "vitest";
import { agent, model, type ModelOptions, type ModelOptionsOf, run } from "@ravi/sdk";
import { peerFailure } from "../src/models/load/providers.ts";

afterEach(() => vi.unstubAllEnvs());

describe("model", () => {
  test("parts at the first colon, and knows its provider before anything is loaded", () => {
    expect(model("openai:gpt-5-mini")).toMatchObject({
      id: "openai/gpt-5-mini",
      info: { provider: "openai", model: "gpt-5-mini" },
    });
    expect(model("openai:ft:gpt-4o:acme", { contextWindow: 128_000, maxOutputTokens: 900 }).info).toEqual({
      provider: "openai",
      model: "ft:gpt-4o:acme",
      contextWindow: 128_000,
      maxOutputTokens: 900,
    });
  });

  test.each<[string, unknown]>([
    ["model options", Promise.resolve({ baseURL: "http://127.0.0.1" })],
    ["model options.maxOutputTokens", { maxOutputTokens: -1 }],
    ["model options.contextWindow", { contextWindow: "128k" }],
    ["apiKey", { apiKey: Promise.resolve("key") }],
    ["headers", { headers: new Headers({ x: "y" }) }],
    ["models", { models: new Map() }],
    ["model options.baseURL", { baseURL: "nonsense" }],
    ["model options.baseURL", { baseURL: 5 }],
    ["idleTimeoutMs", { idleTimeoutMs: "30 s" }],
    ["maxResponseBytes", { maxResponseBytes: 0 }],
    ["provider", { provider: "" }],
    ["fetch", { fetch: "https" }],
    ["model options.clock", { clock: 1_000 }],
    ["model options.cache", { cache: "1h" }],
    ["model options.baseURL", { baseURL: "https://user:canary@127.0.0.1/v1" }],
  ])("R18: a wrong %s is named at once, and not at the first call", (field, options) => {
    expect(() => model("openai:gpt-5-mini", options as object)).toThrow(
      expect.objectContaining({ code: "INVALID_VALUE", field }),
    );
  });

  test.each<[string, string, unknown]>([
    ["openai", "api", { api: "completions" }],
    ["openai", "organization", { organization: 5 }],
    ["openai", "project", { project: ["p"] }],
    ["anthropic", "apiVersion", { apiVersion: "latest" }],
    ["anthropic", "cache", { cache: "1d" }],
    ["anthropic", "thinking", { thinking: "much" }],
    ["anthropic", "thinking", { thinking: null }],
    ["anthropic", "thinking.budget", { thinking: { budget: 2_048 } }],
    ["anthropic", "thinking.budgetTokens", { thinking: { budgetTokens: 100 } }],
  ])("R18: so is what only %s has: a wrong %s", (prefix, field, options) => {
    expect(() => model(`${prefix}:small`, options as object)).toThrow(
      expect.objectContaining({ code: "INVALID_VALUE", field: `model options.${field}` }),
    );
  });

  test("R18: one whose options are inherited has its address and its limits", () => {
    const inherited = <T>(fields: T): T => Object.create(fields as object) as T;
    const options = inherited({ baseURL: "http://127.0.0.1:1/v1", maxOutputTokens: 5 });
    expect(model("openai:small", options).info).toMatchObject({ maxOutputTokens: 5 });
    expect(() => model("openai:small", inherited({ baseURL: "nonsense" }))).toThrow(/model options\.baseURL/);
  });

  test.each(["gpt-5-mini", "acme:large", ":x", "openai:", "", "constructor:x", "__proto__:x", "toString:x"])(
    "refuses %j, and says what is known",
    (spec) => {
      expect(() => model(spec)).toThrow(
        /expected "provider:model", such as .* \(known providers: openai, anthropic/,
      );
    },
  );

  test("refuses a misspelt option without showing a key", () => {
    const wrong: object = { apikey: "sk-secret" };
    expect(() => model("openai:gpt-5-mini", wrong)).toThrow(/model options\.apikey/);
    expect(() => model("openai:gpt-5-mini", wrong)).not.toThrow(/sk-secret/);
  });

  test("a prefix of one's own makes its models, and may stand for a built-in one", async () => {
    const own = (name: string) => scriptedModel([`I am ${name}.`]);
    const who = agent({ name: "who", model: "my:small", models: { my: own } });
    expect((await run(who, "Who are you?")).output).toBe("I am small.");
    expect(model("openai:fake", { models: { openai: own } }).info.provider).toBe("scripted");
    expect(() => model("my:x", { models: { my: () => ({}) as never } })).toThrow(/models\["my"\]\("x"\)/);
  });

  test("what is said to a prefix of one's own, which makes its models itself, is refused and not shown", () => {
    const models = { my: (name: string) => scriptedModel([name]) };
    for (const options of [
      { baseURL: "http://127.0.0.1:1/v1" },
      { apiKey: "sk-secret" },
      { contextWindow: 9 },
    ]) {
      const [name] = Object.keys(options);
      const made = () => model("my:small", { models, ...options });
      expect(made).toThrow(
        new RegExp(`model options.${name} is .*; expected no value: models\\["my"\\] creates`),
      );
      expect(made).not.toThrow(/sk-secret/);
    }
    expect(model("my:small", { models, baseURL: undefined }).info.provider).toBe("scripted");
  });

  test("what makes no model, and what has no name to price it by, are refused by name", () => {
    const who = (options: object): unknown => agent({ name: "who", model: "my:small", ...options });
    expect(() => who({ models: null })).toThrow(
      /models is null; expected an object with a function for each prefix/,
    );
    expect(() => who({ models: { my: "small" } })).toThrow(/models\["my"\] is "small"/);
    expect(() => who({ model: scriptedModel(["Hi."]), models: ["my"] })).toThrow(/models is an array of 1/);
    const { id, generate } = scriptedModel(["Hi."]);
    for (const info of [null, {}, { provider: "my" }])
      expect(() => who({ model: { id, generate, info } })).toThrow(/info: { provider, model }/);
  });

  test("an OpenAI-compatible server is reached by its base URL, streamed", async () => {
    await using server = await loopbackOpenAI({ script: ["Good morning."] });
    const client = model("openai:small", { baseURL: server.url, apiKey: "sk-loopback" });
    const deltas: string[] = [];
    const result = await run(agent({ name: "clerk", model: client }), "Hi", {
      onEvent: ({ event }) => event.type === "text" && deltas.push(event.delta),
    });
    expect(result).toMatchObject({ status: "completed", output: "Good morning." });
    expect(deltas.join("")).toBe("Good morning.");
    expect(server.bill().calls).toBe(1);
  });

  test("a provider's own options reach it", async () => {
    await using server = await loopbackOpenAI({ script: ["Good morning."] });
    const sent: Request[] = [];
    const client = model("openai:small", {
      baseURL: server.url,
      apiKey: "sk-loopback",
      api: "responses",
      organization: "acme",
      provider: "house",
      idleTimeoutMs: 5_000,
      headers: { "x-team": "blue" },
      fetch: (input, init) => {
        const request = new Request(input, init);
        sent.push(request.clone());
        return fetch(request);
      },
    });
    expect(client).toMatchObject({ id: "house/small", info: { provider: "house", model: "small" } });
    expect((await run(agent({ name: "clerk", model: client }), "Hi")).unwrap().output).toBe("Good morning.");
    expect(sent.map(({ url }) => url)).toEqual([`${server.url}/responses`]);
    const { headers } = sent[0] ?? new Request(server.url);
    expect([headers.get("x-team"), headers.get("openai-organization")]).toEqual(["blue", "acme"]);
  });

  test("an hour in the cache of Anthropic is known before the first call, because it is reserved for", async () => {
    await using server = await loopbackAnthropic({ script: ["Good morning."] });
    const options = { baseURL: server.url, apiKey: "sk-loopback", cache: "1h" } as const;
    const client = model("anthropic:claude-sonnet-5-5", options);
    expect(client.info).toEqual({
      provider: "anthropic",
      model: "claude-sonnet-5-5",
      cacheTtl: "1h",
    });
    expect(model("anthropic:claude-sonnet-5-5", { cache: "5m" }).info).not.toHaveProperty("cacheTtl");
    expect((await run(agent({ name: "clerk", model: client }), "Hi")).output).toBe("Good morning.");
  });

  test("what the environment says is read at the first call, and checked before anything is sent", async () => {
    vi.stubEnv("ANTHROPIC_BASE_URL", "nonsense");
    const options = { thinking: "off", apiKey: "sk-canary" } as const;
    const clerk = agent({ name: "clerk", model: model("anthropic:claude-sonnet-5-5", options) });
    const { error } = await run(clerk, "Hi");
    expect(error).toMatchObject({ code: "INVALID_VALUE", field: "ANTHROPIC_BASE_URL" });
    expect(JSON.stringify(error)).not.toContain("canary");
  });

  test("a missing key is an error of the first call that names its variable", async () => {
    vi.stubEnv("OPENAI_API_KEY", "");
    vi.stubEnv("OPENAI_BASE_URL", "");
    const clerk = agent({ name: "clerk", model: "openai:gpt-5-mini" });
    const result = await run(clerk, "Hi");
    expect(result).toMatchObject({ status: "failed", cost: 0, error: { code: "INVALID_VALUE" } });
    expect(result.error?.message).toMatch(/a key for OpenAI: set OPENAI_API_KEY .* the option apiKey/);
  });
});

test("a model by name takes the options of its provider, all of them and no others", () => {
  expectTypeOf<Omit<ModelOptionsOf<"openai:x">, "models">>().toEqualTypeOf<OpenAIOptions>();
  expectTypeOf<Omit<ModelOptionsOf<"anthropic:x">, "models">>().toEqualTypeOf<AnthropicOptions>();
  expectTypeOf<ModelOptionsOf<string>>().toEqualTypeOf<ModelOptions>();
  expectTypeOf<ModelOptionsOf<"my:small">>().toEqualTypeOf<ModelOptions>();
  const name: string = "openai:x";
  expect(model(name, { apiKey: "k", idleTimeoutMs: 1_000 }).id).toBe("openai/x");
  expect(model(`openai:${name}`, { api: "chat" }).id).toBe("openai/openai:x");
  expect(model("openai:x", { models: {}, api: "responses", apiKey: null }).id).toBe("openai/x");
  expect(model("anthropic:x", { thinking: { budgetTokens: 2_048 } }).id).toBe("anthropic/x");
  // @ts-expect-error an option of Anthropic
  expect(() => model("openai:x", { thinking: "off" })).toThrow("model options.thinking");
  // @ts-expect-error an option of OpenAI
  expect(() => model("anthropic:x", { api: "chat" })).toThrow("model options.api");
  expect(() => model(name, { baseUrl: "x" } as object)).toThrow(
    /known fields: models, .*, project; did you mean baseURL\?$/,
  );
  // @ts-expect-error not every provider has it
  expect(model(name, { api: "chat" }).id).toBe("openai/x");
});

test("importing the sdk loads no provider, no prices, no SQLite and no schema library", async () => {
  const program = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({ resolve: (specifier, context, next) => (seen.push(specifier), next(specifier, context)) });
    await import("@ravi/sdk");
    console.log(JSON.stringify(seen));
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@ravi/source", "--input-type=module", "--eval", program],
    { cwd: import.meta.dirname },
  );
  const seen = JSON.parse(stdout) as string[];
  expect(seen).toContain("@ravi/sdk");
  expect(
    seen.filter((name) =>
      /^(?:openai|zod|gpt-tokenizer|node:sqlite|@anthropic|@pydantic|@ravi\/(?:context|provider))/.test(name),
    ),
  ).toEqual([]);
});

describe("a provider that is not installed", () => {
  const name = "@ravi/provider-anthropic";
  test.each([
    ["Node", `Cannot find package '${name}' imported from /app/main.js`],
    ["webpack", `Cannot find module '${name}'`],
    ["Vite", `Could not resolve "${name}" imported by "@ravi/sdk". Is it installed?`],
    ["Chrome", `Failed to resolve module specifier '${name}'`],
    ["Firefox", `The specifier “${name}” was a bare specifier, but was not remapped to anything.`],
    ["Safari", `Module name, '${name}' does not resolve to a valid URL.`],
  ])("is a matter of one command, as %s says it", (_, message) => {
    const cause = new Error(message);
    expect(peerFailure(name, cause)).toMatchObject({
      code: "INVALID_VALUE",
      message: expect.stringContaining(`npm install ${name}`),
      cause,
    });
  });

  test.each([
    `Cannot find package '@anthropic-ai/sdk' imported from '/app/node_modules/${name}/dist/index.js'`,
    `Could not resolve "@anthropic-ai/sdk" imported by "${name}".`,
    `'${name}' is broken`,
  ])("is not what is told of one that is: %s", (message) => {
    const cause = new Error(message);
    expect(peerFailure(name, cause)).toBe(cause);
  });
});
