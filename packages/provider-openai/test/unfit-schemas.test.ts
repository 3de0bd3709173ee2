import { expect, test } from "vitest";
import { APIS, client, failureOf, HELLO, rawServer, SPOKEN } from "./support.ts";

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
