import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Limiter } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import { compose } from "./compose.ts";
import { meter, team } from "./team.ts";

// A worker as a process of its own.

const { values } = parseArgs({
  options: {
    ingress: { type: "string", default: "http://127.0.0.1:8080" },
    admin: { type: "string", default: "http://127.0.0.1:9070" },
    port: { type: "string", default: "9080" },
    model: { type: "string", default: "" },
    /** The API key. The bill shows its last four characters, so that a test can tell which worker paid. */
    key: { type: "string", default: "sk-loopback-0001" },
    /** The worker's first call waits between admission and payment until a file of this name exists. */
    hold: { type: "string" },
  },
});
const { ingress, admin, key, hold } = values;
const model = openai("small", { baseURL: values.model, apiKey: key, maxOutputTokens: 1 });
const { lead, researcher } = team(model);
const limiter = hold === undefined ? undefined : holding(hold);
const runtime = compose({ ingress, admin, agents: [lead, researcher], meter, limiter });
const { port } = await runtime.listen({ host: "127.0.0.1", port: Number(values.port) });
console.log(`listening on ${port}`);

function holding(file: string): Limiter {
  let isHeld = false;
  const permit = { release: () => {}, [Symbol.dispose]: () => {} };
  return {
    async acquire() {
      if (isHeld) return permit;
      isHeld = true;
      console.log("held");
      while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
      console.log("let go");
      return permit;
    },
    slowDown: () => {},
  };
}
