import type { Attachment } from "@ravi/kernel";
import { anthropic } from "@ravi/provider-anthropic";
import { openai } from "@ravi/provider-openai";
import { ModelMeter } from "@ravi/resources";
import { ReActAgent } from "@ravi/react-agent";
import { expect, test, vi } from "vitest";
import { governed } from "../../src/leading.ts";

const INSIDE = "http://169.254.169.254/latest/meta-data";
const given: readonly Attachment[] = [
  { type: "image", url: INSIDE },
  { type: "file", url: INSIDE, mediaType: "application/pdf" },
];

test.each(["openai", "chat", "anthropic"] as const)(
  "a URL of an attachment is asked for by nobody here, neither to send it nor to count it: %s",
  async (provider) => {
    const asked: string[] = [];
    const fetch = async (input: string | URL | Request): Promise<Response> => {
      asked.push(new URL(input instanceof Request ? input.url : input).origin);
      return new Response("no", { status: 400 });
    };
    vi.stubGlobal("fetch", fetch);
    try {
      const options = { apiKey: "key-of-nobody", baseURL: "http://model.example", fetch };
      const model =
        provider === "anthropic"
          ? anthropic("claude-sonnet-5-5", options)
          : openai("gpt-5-mini", { ...options, api: provider === "chat" ? "chat" : "responses" });
      const meter = new ModelMeter({
        prices: { [`${model.info.provider}:${model.info.model}`]: { input: 1, output: 1 } },
      });
      const agent = new ReActAgent({ name: "a", model });
      const { status } = await governed({ meter }).run(agent, "look", { attachments: given }).result;
      expect(status).toBe("failed");
    } finally {
      vi.unstubAllGlobals();
    }
    expect([...new Set(asked)]).toEqual(["http://model.example"]);
  },
);
