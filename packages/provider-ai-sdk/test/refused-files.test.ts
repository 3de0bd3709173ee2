import { UnsupportedFunctionalityError } from "@ai-sdk/provider";
import type { ChatMessage, ContentPart } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { type AiSdkModel, fromAiSdk } from "../src/index.ts";
import { failureOf, FINISH, type FixedModel, fixedModel, notingLogger, streamed } from "./support.ts";

// What @ai-sdk/openai 4.0.115, @ai-sdk/groq 4.0.81, @ai-sdk/mistral 4.0.84 and @ai-sdk/xai 5.0.12 do: before anything is sent,
// they throw if a message has a file of a type that they do not know.

interface Refusing extends AiSdkModel {
  readonly seen: FixedModel["seen"];
}

function refusing(isRefused: (mediaType: string) => boolean): Refusing {
  const model = fixedModel({ parts: [FINISH] });
  const check = (options: object): void => {
    const types = JSON.stringify(options).matchAll(/"mediaType":"([^"]*)"/g);
    for (const [, type = ""] of types)
      if (isRefused(type)) throw new UnsupportedFunctionalityError({ functionality: `file part ${type}` });
  };
  return {
    ...model,
    async doGenerate(options) {
      check(options);
      return model.doGenerate(options);
    },
    async doStream(options) {
      check(options);
      return model.doStream(options);
    },
  };
}

const IMAGE: ContentPart = { type: "image", url: "data:image/png;base64,AAAA" };
const TEXT: ContentPart = {
  type: "file",
  url: `data:text/plain;base64,${Buffer.from("café").toString("base64")}`,
  mediaType: "text/plain",
  name: "menu.txt",
};
const PDF: ContentPart = {
  type: "file",
  url: "data:application/pdf;base64,AAAA",
  mediaType: "application/pdf",
  name: "a.pdf",
};
const user = (...content: ContentPart[]): ChatMessage => ({ role: "user", content });
const picture = { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } };

describe("a file that the provider refuses before anything is sent", () => {
  test("is sent as text if it is one, or replaced by a line that says so; images stay", async () => {
    const model = refusing((type) => !type.startsWith("image/"));
    const logger = notingLogger();
    const client = fromAiSdk(model, { logger });
    await client.generate({ messages: [user(IMAGE, TEXT, PDF)] });
    await streamed(client, { messages: [user(IMAGE, TEXT, PDF)] });
    const content = [
      picture,
      { type: "text", text: "menu.txt:\ncafé" },
      { type: "text", text: "[the file a.pdf was left out: this model does not accept it]" },
    ];
    expect(model.seen.map(({ prompt }) => prompt)).toEqual([
      [{ role: "user", content }],
      [{ role: "user", content }],
    ]);
    expect(logger.notes.map(([text]) => text)).toEqual([
      "test/small: a text file is sent as text: this model does not accept it as a file",
      "test/small: a file (application/pdf) is left out: this model does not accept it",
    ]);
  });

  test("is replaced by such a line if there is no text in it, because servers refuse an empty text", async () => {
    const model = refusing(() => true);
    const empty: ContentPart = { type: "file", url: "data:text/plain;base64,", mediaType: "text/plain" };
    await fromAiSdk(model).generate({ messages: [user(empty)] });
    const text = "[the file (text/plain) was left out: it is empty]";
    expect(model.seen[0]?.prompt).toEqual([{ role: "user", content: [{ type: "text", text }] }]);
  });

  test("may be an image, also in the result of a tool", async () => {
    const model = refusing(() => true);
    const call = { id: "c1", name: "look", arguments: "{}" };
    await fromAiSdk(model).generate({
      messages: [
        user(IMAGE),
        { role: "assistant", content: "", toolCalls: [call] },
        { role: "tool", toolCallId: "c1", name: "look", content: [IMAGE, TEXT] },
      ],
    });
    const note = { type: "text", text: "[an image was left out: this model does not accept it]" };
    const sent = model.seen[0]?.prompt;
    expect(sent?.[0]).toEqual({ role: "user", content: [note] });
    expect(sent?.[2]).toMatchObject({
      content: [{ output: { value: [note, { type: "text", text: "menu.txt:\ncafé" }] } }],
    });
  });

  test("does not hide that something else is refused", async () => {
    const asked: number[] = [];
    const model: AiSdkModel = {
      ...fixedModel(),
      doGenerate() {
        const functionality = `tool choice ${asked.push(asked.length)}`;
        throw new UnsupportedFunctionalityError({ functionality });
      },
    };
    const client = fromAiSdk(model);
    for (const messages of [[user(TEXT)], [user({ type: "text", text: "go" })]]) {
      asked.length = 0;
      expect(await failureOf(client.generate({ messages }))).toMatchObject({
        kind: "FORMAT_ERROR",
        message: expect.stringContaining("tool choice 1"),
      });
    }
    // Without a file there is nothing to leave out.
    expect(asked).toHaveLength(1);
  });
});

test.each([
  ["https://example.org/a.PNG?x=1", "image/png"],
  ["https://example.org/a.jpg", "image/jpeg"],
  ["https://example.org/a", "image/*"],
])("the type of an image at %s is %s, as @ai-sdk/deepseek 3.0.56 wants it", async (url, mediaType) => {
  const model = fixedModel({ supportedUrls: { "image/*": [/^https:/] } });
  await fromAiSdk(model).generate({ messages: [user({ type: "image", url })] });
  expect(model.seen[0]?.prompt).toMatchObject([{ content: [{ type: "file", mediaType }] }]);
});
