import { field, listOf } from "@ravi/kernel/provider";
import { describe, expect, test } from "vitest";
import { APIS, client, failureOf, HELLO, listener, rawServer, SPOKEN } from "./support.ts";

const OBJECT = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };

test.each(APIS)(
  "T10: a shape that no model can be held to is asked for in words, others are not (%s)",
  async (api) => {
    const message = `Invalid schema for response_format 'list': schema must be a JSON Schema of 'type: "object"', got 'type: "array"'.`;
    await using server = await rawServer((response, _, index) => {
      const isRefused = JSON.stringify(server.bodies[index]).includes('"schema":{"type":"array"');
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      response.end(isRefused ? JSON.stringify({ error: { message } }) : SPOKEN[api].whole("ok"));
    });
    const model = client(server, { api });
    const list = { name: "list", schema: { type: "array", items: { type: "string" } } };
    for (let n = 0; n < 2; n++) await model.generate({ ...HELLO, output: list });
    await model.generate({ ...HELLO, output: { name: "object", schema: OBJECT } });
    const asked = server.bodies.map((body) =>
      "response_format" in body || "text" in body ? "held" : "words",
    );
    expect(asked).toEqual(["held", "words", "words", "held"]);
  },
);

test.each(APIS)(
  "T10: a tool that no model can be held to is sent once more, not strict (%s)",
  async (api) => {
    const message = "Invalid schema for function 'f': too many enum values.";
    await using server = await rawServer((response, _, index) => {
      const isRefused = /"name":"f"[^}]*.{0,200}"strict":true/.test(JSON.stringify(server.bodies[index]));
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      response.end(isRefused ? JSON.stringify({ error: { message } }) : SPOKEN[api].whole("ok"));
    });
    const model = client(server, { api });
    const tools = [{ name: "f", description: "d", parameters: OBJECT }];
    for (let n = 0; n < 2; n++) await model.generate({ ...HELLO, tools });
    expect(server.bodies).toHaveLength(3);
    expect(server.bodies.slice(1).map((body) => JSON.stringify(body).includes('"strict":false'))).toEqual([
      true,
      true,
    ]);
  },
);

test.each(APIS)("T10: a schema that is wrong in itself is not corrected (%s)", async (api) => {
  await using server = await rawServer((response) => {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "Invalid schema for function 'f': no such type." } }));
  });
  const tools = [{ name: "f", description: "d", parameters: { type: "object", properties: { a: {} } } }];
  const failed = await failureOf(client(server, { api }).generate({ ...HELLO, tools }));
  expect(failed).toMatchObject({ kind: "FORMAT_ERROR", status: 400 });
  expect(server.bodies).toHaveLength(1);
});

describe("a keyword that the server does not know", () => {
  const parameters = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      // A property may have the name of a keyword.
      pattern: { type: "string", pattern: "^\\\\d+$", maxLength: 65_536, description: "What to look for." },
      count: { anyOf: [{ type: "integer", exclusiveMinimum: 0 }, { type: "null" }] },
      kind: { const: "a", default: { pattern: "x" } },
    },
  };
  const tools = [{ name: "f", description: "d", parameters }];
  const output = {
    name: "answer",
    schema: { type: "object", properties: { id: { type: "string", format: "x" } } },
  };
  /** What is sent once the server has refused with that message what fits the pattern. */
  const sentTo = async (message: string, refused: RegExp): Promise<{ first: unknown; all: unknown[] }> => {
    await using server = await rawServer((response, _, index) => {
      const isRefused = refused.test(JSON.stringify(server.bodies[index]));
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      response.end(isRefused ? JSON.stringify({ error: { message } }) : SPOKEN.chat.whole("ok"));
    });
    const { logger, said } = listener();
    const model = client(server, { logger });
    for (let n = 0; n < 2; n++) await model.generate({ ...HELLO, tools, output });
    expect(server.bodies).toHaveLength(3);
    expect(server.bodies[2]).toEqual(server.bodies[1]);
    expect(said).toEqual([expect.stringContaining("the server does not accept tools: ")]);
    const { tools: first, response_format: format } = server.bodies[1] ?? {};
    return { first: field(field(listOf(first)[0], "function"), "parameters"), all: [format] };
  };

  test("T10: is told in words, as Gemini wants it behind gateways", async () => {
    const at =
      "at 'tools[0].function_declarations[0].parameters.properties[1].value.any_of[0]': Cannot find field.";
    const message = ["$schema", "exclusiveMinimum", "const"]
      .map((name) => `Invalid JSON payload received. Unknown name "${name}" ${at}`)
      .join("\n");
    const { first } = await sentTo(message, /"exclusiveMinimum"|"const"|"\$schema"/);
    expect(first).toEqual({
      type: "object",
      properties: {
        pattern: parameters.properties.pattern,
        count: { anyOf: [{ type: "integer", description: "(exclusiveMinimum: 0)" }, { type: "null" }] },
        kind: { enum: ["a"], default: { pattern: "x" } },
      },
    });
  });

  test("T10: is told in words where llama.cpp can make no grammar of it", async () => {
    const message = "Failed to initialize samplers: failed to parse grammar";
    const { first, all } = await sentTo(message, /"maxLength"|"format"/);
    expect(field(field(first, "properties"), "pattern")).toEqual({
      type: "string",
      description: "What to look for. (pattern: ^\\\\d+$, maxLength: 65536)",
    });
    expect(JSON.stringify(all)).toContain('"id":{"type":"string","description":"(format: x)"}');
  });

  test.each([
    "<At path 'properties.any': type is not defined>",
    "<At path 'properties.both': when using anyOf, type should be defined in anyOf items instead of the parent schema>",
    "<At path 'properties.ref': conflicting keywords found after $ref expansion: description>",
  ])("T10: says what Moonshot wants each schema to say: %s", async (details) => {
    const schema = {
      type: "object",
      properties: {
        any: { description: "Whatever." },
        both: { type: "object", anyOf: [{ required: ["a"] }, { type: "object", required: ["b"] }] },
        ref: { $ref: "#/$defs/a", description: "An a." },
        kind: { enum: ["a", "b"] },
        list: { type: "array", items: { const: 1 } },
      },
      $defs: { a: { type: "string" } },
    };
    await using server = await rawServer((response, _, index) => {
      const text = JSON.stringify(server.bodies[index]);
      const isRefused = text.includes('"An a."') || text.includes('{"description":"Whatever."}');
      const message = `Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: ${details}`;
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      response.end(isRefused ? JSON.stringify({ error: { message } }) : SPOKEN.chat.whole("ok"));
    });
    const model = client(server);
    for (let n = 0; n < 2; n++)
      await model.generate({ ...HELLO, tools: [{ name: "f", description: "d", parameters: schema }] });
    expect(server.bodies).toHaveLength(3);
    expect(server.bodies[2]).toEqual(server.bodies[1]);
    const [tool] = listOf(server.bodies[1]?.["tools"]);
    expect(field(field(tool, "function"), "parameters")).toEqual({
      type: "object",
      properties: {
        any: {
          description: "Whatever.",
          anyOf: [
            { type: "string" },
            { type: "number" },
            { type: "boolean" },
            { type: "object" },
            { type: "null" },
          ],
        },
        both: {
          anyOf: [
            { type: "object", required: ["a"] },
            { type: "object", required: ["b"] },
          ],
        },
        ref: { $ref: "#/$defs/a" },
        kind: { type: "string", enum: ["a", "b"] },
        list: { type: "array", items: { type: "number", const: 1 } },
      },
      $defs: { a: { type: "string" } },
    });
  });

  test("T10: is not corrected if the schemas have none of it", async () => {
    await using server = await rawServer((response) => {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "failed to parse grammar" } }));
    });
    const plain = [{ name: "f", description: "d", parameters: OBJECT }];
    await failureOf(client(server).generate({ ...HELLO, tools: plain }));
    expect(server.bodies).toHaveLength(1);
  });
});
