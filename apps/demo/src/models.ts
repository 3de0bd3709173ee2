import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import type { OwnPrices } from "@ravi/resources";
import type { LoopbackServer } from "@ravi/testing";
import { priceIn } from "./args.ts";
import { STAND_IN_MODEL } from "./stand-in/server.ts";

/** A real model that costs money. Its key comes from the provider's usual environment variable. */
export async function realModel(name: string, baseURL: string | undefined): Promise<LLMClient> {
  const [provider, ...rest] = name.split(":");
  const model = rest.join(":");
  if (model !== "" && provider === "openai") return openai(model, { baseURL });
  if (model !== "" && provider === "anthropic" && baseURL === undefined) {
    // Loaded on demand, so that other runs do not pay for importing Anthropic's SDK: 270 of the 1,060 files of a start.
    const { anthropic } = await import("@ravi/provider-anthropic");
    return anthropic(model);
  }
  const expected =
    baseURL === undefined ? "openai:NAME or anthropic:NAME" : "openai:NAME, since --base-url is given";
  throw new InvalidValueError({ field: "--model", value: name, expected });
}

/** The price given with `--price`; undefined if there is none. */
export function pricesOf(name: string, price: string | undefined): OwnPrices | undefined {
  return price === undefined ? undefined : { [name]: priceIn(price) };
}

/** The real OpenAI provider, pointed at the stand-in server on this machine. */
export function standInModel(server: LoopbackServer): LLMClient {
  return openai(STAND_IN_MODEL, { baseURL: server.url, apiKey: "no-key-needed" });
}
