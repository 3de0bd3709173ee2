import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Limiter } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import { compose } from "./compose.ts";
import { meter, team } from "./team.ts";

// One worker as a process of its own.

const { values } = parseArgs({
  options: {
    ingress: { type: "string", default: "http://127.0.0.1:8080" },
    admin: { type: "string", default: "http://127.0.0.1:9070" },
    port: { type: "string", default: "9080" },
    model: { type: "string", default: "" },
    /** The bill shows the last four characters of it: who has paid. */
    key: { type: "string", default: "sk-loopback-0001" },
    /** The first call is held between its admission and its payment until there is a file of that name. */
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
