import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { isRaviError, type ModelRequest } from "@ravi/kernel";
import { type Script, scriptedModel } from "@ravi/testing";

export interface HouseServer {
  readonly baseURL: string;
  requests(): number;
  close(): Promise<void>;
}

/** A server that speaks the protocol of the house and answers from a script. It stands in for the real one. */
export async function startServer(script: Script, apiKey: string): Promise<HouseServer> {
  const model = scriptedModel(script);
  let requests = 0;
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests++;
    if (request.headers.authorization !== `Bearer ${apiKey}`) {
      response.writeHead(401).end("wrong key");
      return;
    }
    try {
      const asked = JSON.parse(await text(request)) as ModelRequest;
      for await (const event of model.stream(asked)) response.write(`${JSON.stringify(event)}\n`);
      response.end();
    } catch (error) {
      if (response.headersSent || !isRaviError(error, "PROVIDER_ERROR") || error.status === undefined) {
        response.destroy();
        return;
      }
      const wait = error.retryAfterMs;
      const headers = wait === undefined ? {} : { "retry-after": String(wait / 1000) };
      response.writeHead(error.status, headers).end(error.message);
    }
  }

  return {
    baseURL: `http://127.0.0.1:${port}`,
    requests: () => requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
