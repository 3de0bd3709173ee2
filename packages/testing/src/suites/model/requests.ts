import {
  type ContentPart,
  deepFreeze,
  type FilePart,
  type ImagePart,
  type ModelRequest,
  textOf,
} from "@ravi/kernel";
import { expect } from "vitest";
import { ask, type ModelAbility, type ModelCase, waysOf } from "./stage.ts";
import { SEARCH } from "./tool-calls.ts";

/** An image of one pixel. */
export const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PDF = `data:application/pdf;base64,${btoa("%PDF-1.4\n%%EOF\n")}`;

const OUTPUT = {
  name: "weather",
  schema: {
    type: "object",
    properties: { city: { type: "string" }, degrees: { type: "number" } },
    required: ["city", "degrees"],
    additionalProperties: false,
  },
};

export const requestCases: readonly ModelCase[] = [
  {
    rule: "T10",
    says: "the system prompt and the turns reach the server in their order",
    needs: ["seesRequests"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client, asked } = await stage.open(["ok"]);
        await way.call(client, {
          messages: [
            { role: "system", content: "You are brief." },
            { role: "user", content: "one" },
            { role: "assistant", content: "two" },
            { role: "user", content: [{ type: "text", text: "three" }] },
          ],
        });
        expect(asked[0]?.request.messages.map((message) => [message.role, textOf(message)])).toEqual([
          ["system", "You are brief."],
          ["user", "one"],
          ["assistant", "two"],
          ["user", "three"],
        ]);
      }
    },
  },
  settingCase("temperature", { temperature: 0.5 }),
  settingCase("topP", { topP: 0.25 }),
  settingCase("maxOutputTokens", { maxOutputTokens: 321 }),
  settingCase("stop", { stop: ["END", "###"] }),
  settingCase("seed", { seed: 42 }),
  ...(["auto", "required", { name: "search" }] as const).map(choiceCase),
  {
    rule: "R19",
    says: "the tool choice none keeps the model from calling",
    needs: ["tools", "toolChoice", "seesRequests"],
    async run(stage) {
      const { client, asked } = await stage.open(["ok"]);
      await client.generate(ask("go", { tools: [SEARCH], toolChoice: "none" }));
      const { toolChoice, tools = [] } = asked[0]?.request ?? {};
      expect(toolChoice === "none" || tools.length === 0).toBe(true);
    },
  },
  {
    rule: "R19",
    says: "the tools reach the server with their names, descriptions and parameters",
    needs: ["tools", "seesRequests"],
    async run(stage) {
      const bare = { name: "now", description: "The time.", parameters: { type: "object", properties: {} } };
      for (const way of waysOf(stage)) {
        const { client, asked } = await stage.open(["ok"]);
        await way.call(client, ask("go", { tools: [SEARCH, bare] }));
        const tools = asked[0]?.request.tools ?? [];
        expect(tools.map(({ name, description }) => [name, description])).toEqual([
          ["search", "Looks something up."],
          ["now", "The time."],
        ]);
        expect(tools[0]?.parameters["properties"]).toMatchObject({ query: { type: "string" } });
      }
    },
  },
  {
    rule: "R19",
    says: "the shape that the answer must have reaches the server",
    needs: ["structuredOutput", "seesRequests"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client, asked } = await stage.open(['{"city":"Oslo","degrees":4}']);
        const { message } = await way.call(client, ask("go", { output: OUTPUT }));
        expect(asked[0]?.request.output?.schema["properties"]).toMatchObject(OUTPUT.schema.properties);
        expect(JSON.parse(textOf(message))).toEqual({ city: "Oslo", degrees: 4 });
      }
    },
  },
  {
    rule: "T10",
    says: "an image of the user's reaches the server",
    needs: ["images", "seesRequests"],
    async run(stage) {
      const content: ContentPart[] = [
        { type: "text", text: "What is this?" },
        { type: "image", url: PNG, mediaType: "image/png" },
      ];
      const { client, asked } = await stage.open(["a pixel"]);
      await client.generate({ messages: [{ role: "user", content }] });
      const seen = asked[0]?.request.messages[0];
      expect(seen === undefined ? "" : textOf(seen)).toBe("What is this?");
      expect(attachmentsOf(seen?.content).map(dataOf)).toEqual([dataOf({ url: PNG })]);
    },
  },
  {
    rule: "T10",
    says: "a file of the user's reaches the server",
    needs: ["files", "seesRequests"],
    async run(stage) {
      const content: ContentPart[] = [
        { type: "text", text: "Sum it up." },
        { type: "file", url: PDF, mediaType: "application/pdf", name: "report.pdf" },
      ];
      const { client, asked } = await stage.open(["nothing"]);
      await client.generate({ messages: [{ role: "user", content }] });
      const files = attachmentsOf(asked[0]?.request.messages[0]?.content).filter(
        ({ type }) => type === "file",
      );
      expect(files.map(dataOf)).toEqual([dataOf({ url: PDF })]);
    },
  },
  {
    rule: "T10",
    says: "a request that is frozen to the ground works, and none is changed",
    async run(stage) {
      const request: ModelRequest = {
        messages: [
          { role: "system", content: "You are brief." },
          { role: "user", content: [{ type: "text", text: "hello" }] },
          { role: "assistant", content: [{ type: "text", text: "yes?" }] },
          { role: "user", content: "go on" },
        ],
        ...(stage.has("tools") ? { tools: [structuredClone(SEARCH)] } : {}),
        ...(stage.has("structuredOutput") ? { output: structuredClone(OUTPUT) } : {}),
        providerOptions: { somebody: { else: true } },
      };
      const before = JSON.stringify(request);
      for (const way of waysOf(stage)) {
        const { client } = await stage.open(["{}", "{}"]);
        await way.call(client, request);
        expect(JSON.stringify(request)).toBe(before);
        await way.call(client, deepFreeze(structuredClone(request)));
      }
    },
  },
];

function settingCase(ability: ModelAbility & keyof ModelRequest, setting: Partial<ModelRequest>): ModelCase {
  return {
    rule: "R19",
    says: `${ability} reaches the server, and is not sent where it is not given`,
    needs: [ability, "seesRequests"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client, asked } = await stage.open(["ok", "ok"]);
        await way.call(client, ask("go", setting));
        await way.call(client, ask("go"));
        expect(asked[0]?.request).toMatchObject(setting);
        // Some protocols require a limit in each request.
        if (ability !== "maxOutputTokens") expect(asked[1]?.request[ability]).toBeUndefined();
      }
    },
  };
}

/** The data of a `data:` URL. */
function dataOf({ url }: { readonly url: string }): string {
  return url.slice(url.indexOf(",") + 1);
}

function attachmentsOf(
  content: string | readonly ContentPart[] | undefined,
): readonly (ImagePart | FilePart)[] {
  if (content === undefined || typeof content === "string") return [];
  return content.flatMap((part) => (part.type === "image" || part.type === "file" ? [part] : []));
}

function choiceCase(toolChoice: NonNullable<ModelRequest["toolChoice"]>): ModelCase {
  return {
    rule: "R19",
    says: `the tool choice ${JSON.stringify(toolChoice)} reaches the server`,
    needs: ["tools", "toolChoice", "seesRequests"],
    async run(stage) {
      const { client, asked } = await stage.open(["ok"]);
      await client.generate(ask("go", { tools: [SEARCH], toolChoice }));
      const seen = asked[0]?.request.toolChoice;
      // `auto` is the default of every server, so it need not be sent.
      expect(toolChoice === "auto" ? (seen ?? "auto") : seen).toEqual(toolChoice);
    },
  };
}
