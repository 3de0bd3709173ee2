import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { HttpTransport } from "../src/http/http-transport.ts";
import { events, httpServer } from "./http-server.ts";

test("an answer is told once, and nothing is kept of requests that were answered, refused or cancelled", async () => {
  const arrived = Promise.withResolvers<void>();
  await using http = await httpServer(async (request, response) => {
    const { id, method } = (await json(request)) as { id?: number; method: string };
    const answer = JSON.stringify({ jsonrpc: "2.0", id, result: {} });
    if (id === undefined) response.writeHead(202).end();
    else if (method === "refused") response.writeHead(500).end();
    else if (method === "stream") events(response).end(`data: ${answer}\n\n`);
    else if (method === "json") response.setHeader("content-type", "application/json").end(answer);
    else {
      events(response).write(": working\n\n");
      arrived.resolve();
    }
  });
  const transport = new HttpTransport(new URL(http.url));
  const told: unknown[] = [];
  const both = Promise.withResolvers<void>();
  const onmessage = (message: unknown): void => {
    transport.noteAnswer(message);
    if (told.push(message) === 2) both.resolve();
  };
  Object.assign(transport, { onmessage });
  await transport.start();
  const send = (message: { id?: number; method: string; params?: object }): Promise<void> =>
    transport.send({ jsonrpc: "2.0", ...message } as Parameters<typeof transport.send>[0]);
  await send({ id: 1, method: "stream" });
  await send({ id: 2, method: "json" });
  await both.promise;
  await expect(send({ id: 3, method: "refused" })).rejects.toThrow(/500|POST/);
  const hanging = send({ id: 4, method: "hang" });
  await arrived.promise;
  await hanging;
  expect(Reflect.get(transport, "unanswered")).toHaveProperty("size", 1);
  await send({ method: "notifications/cancelled", params: { requestId: 4 } });
  expect(Reflect.get(transport, "unanswered")).toHaveProperty("size", 0);
  expect(told).toEqual([1, 2].map((id) => ({ jsonrpc: "2.0", id, result: {} })));
  await transport.close();
});
