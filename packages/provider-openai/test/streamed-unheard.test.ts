import { expect, test } from "vitest";
import { APIS, client, HELLO, rawServer, SPOKEN, streamed } from "./support.ts";

/** What is asked of OpenAI itself, and answered by the functions given, one for each request. */
function openaiItself(...answers: readonly (() => Response)[]) {
  const bodies: unknown[] = [];
  const fetch = async (_: unknown, init: RequestInit | undefined): Promise<Response> => {
    bodies.push(JSON.parse(String(init?.body)));
    return answers[bodies.length - 1]?.() ?? new Response("", { status: 500 });
  };
  const model = client({ url: "https://api.openai.com/v1" }, { fetch });
  return { model, bodies };
}

const stream = (text: string): Response =>
  new Response(text, { headers: { "content-type": "text/event-stream" } });

test("generate streams on the wire with OpenAI, whose models think for longer than a silent connection lives", async () => {
  const { piece, end } = SPOKEN.responses;
  const { model, bodies } = openaiItself(() => stream(piece("hi") + end("hi")));
  expect((await model.generate(HELLO)).message.content).toBe("hi");
  expect(bodies).toEqual([expect.objectContaining({ stream: true })]);
});

test("a stream that breaks off is a failure for generate too", async () => {
  const { model } = openaiItself(() => stream(SPOKEN.responses.piece("hi")));
  await expect(model.generate(HELLO)).rejects.toMatchObject({ kind: "SERVER_ERROR", retryable: true });
});

test.each(APIS)("an account that may not stream gets its answers in one piece (%s)", async (api) => {
  const message = "Your organization must be verified to stream this model.";
  const refusal = { error: { message, param: "stream", code: "unsupported_value" } };
  await using server = await rawServer((response, _, index) => {
    response.writeHead(index === 0 ? 400 : 200, { "content-type": "application/json" });
    response.end(index === 0 ? JSON.stringify(refusal) : SPOKEN[api].whole("hi"));
  });
  const model = client(server, { api });
  for (let n = 0; n < 2; n++) {
    const { events, response } = await streamed(model);
    expect(events[0]).toEqual({ type: "text", delta: "hi" });
    expect(response.message.content).toBe("hi");
  }
  expect(server.bodies).toHaveLength(3);
  for (const body of server.bodies.slice(1)) {
    expect(body).not.toHaveProperty("stream");
    expect(body).not.toHaveProperty("stream_options");
  }
});
