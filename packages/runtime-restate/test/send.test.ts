import { describe, expect, test } from "vitest";
import { errorToJSON } from "@ravi/kernel";
import { tooLarge } from "../src/sizes.ts";
import { played } from "./played.ts";

describe("send", () => {
  test("R24: a message goes to the root from the user, or as it was asked for", async () => {
    const clock = { now: () => 7 };
    const act: Parameters<typeof played>[1] = async (runtime, asked) => {
      await runtime.send("r", "hello", { id: "m1" });
      const plain = { id: "m1", from: "user", content: "hello", at: 7 };
      expect(asked.get("send")).toEqual({ at: 7, to: "r", message: plain });
      const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
      const options = { to: "r/hire:a#1", from: "ada", attachments: [picture] };
      await runtime.send("r", { two: 2 }, options);
      const message = { id: expect.stringMatching(/./), from: "ada", content: { two: 2 }, at: 7 };
      expect(asked.get("send")).toEqual({
        at: 7,
        to: "r/hire:a#1",
        message: { ...message, attachments: [picture] },
      });
    };
    await played({}, act, { clock });
  });

  test.each([
    [
      { ended: "cancelled" },
      'runId is "r"; expected the id of a run that has not ended; this one is cancelled',
    ],
    [
      { isMissed: true },
      'send options.to is "r/hire:a#1"; expected the id of an agent that still reads messages; this one had ended before it read this one',
    ],
    [{ refused: errorToJSON(tooLarge("send.message", 1)) }, 'send.message is "1 bytes"'],
    [{ isUnknown: true }, 'runId is "r"; expected the id of a run that the server knows'],
  ])("R24: the answer %j is an error", async (answer, message) => {
    await played({ send: answer }, async (runtime) => {
      const sent = runtime.send("r", "hello", { to: "r/hire:a#1" });
      await expect(sent).rejects.toMatchObject({ code: "INVALID_VALUE" });
      await expect(sent).rejects.toThrow(message);
    });
  });

  test("R24: what cannot be sent is refused before it is, also by a client that is closed", async () => {
    await played({}, async (runtime, asked) => {
      const wrong = { attachments: [{ type: "image", url: "data:image/png;base64,AAAA", size: 1 }] };
      await expect(runtime.send("r", "odd", wrong as never)).rejects.toThrow(
        /^send options\.attachments\[0\]/,
      );
      await expect(runtime.send("r", "x", { form: "ada" } as never)).rejects.toThrow(/did you mean from/);
      for (const to of ["other", "r2", "r2/hire:a#1", ""])
        await expect(runtime.send("r", "x", { to })).rejects.toThrow(
          `send options.to is ${JSON.stringify(to)}; expected the id of an execution of run r`,
        );
      for (const name of ["from", "id"])
        for (const value of ["", 7, null])
          await expect(runtime.send("r", "x", { [name]: value })).rejects.toThrow(`send options.${name} is`);
      for (const content of [undefined, Number.NaN, 1n, () => 1, { list: [new Date(0)] }])
        await expect(runtime.send("r", content as never)).rejects.toThrow("send.message");
      await expect(runtime.send("r", "x".repeat(24 * 1024 * 1024))).rejects.toThrow(
        /^send\.message, with its/,
      );
      await runtime.close();
      await expect(runtime.send("r", "x")).rejects.toMatchObject({ code: "INVALID_VALUE" });
      expect(asked.size).toBe(0);
    });
  });
});
