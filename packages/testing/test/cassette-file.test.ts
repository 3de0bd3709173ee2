import { spawnSync } from "node:child_process";
import fs, { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { ProviderError } from "@ravi/kernel";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { record, replay, scriptedModel, UnrecordedRequestError } from "../src/index.ts";
import { failureOf, recording, stream } from "./cassettes/support.ts";
import { ask, collect, temporaryFile } from "./helpers.ts";

/** Calls of which nothing came that can be told again. */
const UNTOLD = [{}, { response: { text: "hi" } }, { events: {} }].map((told) =>
  JSON.stringify({ type: "call", client: "a", n: 1, request: { messages: [] }, ...told }),
);
const KEY = "sk-proj-0123456789abcdefghij";

describe("T13: a cassette holds no secret", () => {
  test("of those that look like one, in requests, answers and errors", async () => {
    const file = temporaryFile("run.jsonl");
    const live = recording(
      [
        { text: `your key is ${KEY}`, toolCalls: [{ name: "t", arguments: { header: `Bearer ${KEY}` } }] },
        new ProviderError({ kind: "AUTH", message: `bad key ${KEY}`, cause: new Error(KEY) }),
      ],
      file,
    );
    await collect(stream(live, ask(`my key is ${KEY}`)));
    await failureOf(live.generate(ask("again")));
    expect(readFileSync(file, "utf8")).not.toContain(KEY.slice(3));
    // Nor in pieces: a stream cuts a key in the middle.
    expect(readFileSync(file, "utf8")).not.toMatch(/6789|cdef/);
    const again = replay(file);
    expect(JSON.stringify(await collect(stream(again, ask(`my key is ${KEY}`))))).toContain("[redacted]");
  });

  test.each([
    "glpat-abcdefghijkl0123456789",
    "npm_abcdefghijkl0123456789ABCDEFGHIJKLMN",
    "SG.abcdefghijklmnop0123.abcdefghijklmnop0123",
    "whsec_abcdefghijkl01234567",
    "https://host/?access_token=canary4711",
  ])("of those that look like one: %s", async (key) => {
    const file = temporaryFile("run.jsonl");
    const live = recording(["fine"], file);
    await live.generate(ask(`it is ${key}.`));
    expect(readFileSync(file, "utf8")).not.toMatch(/0123|4711/);
    expect((await replay(file).generate(ask(`it is ${key}.`))).message.content).toBe("fine");
  });

  test("of those that were named, as texts and as patterns", async () => {
    const file = temporaryFile("run.jsonl");
    const redact = ["correct horse", /[\w.]+@[\w.]+/];
    const live = record(scriptedModel(["ada@example.org says hello"]), file, { redact });
    await live.generate(ask("The word is correct horse, tell bob@example.org and eve@example.org"));
    const written = readFileSync(file, "utf8");
    for (const secret of ["correct horse", "bob@", "eve@", "ada@"]) expect(written).not.toContain(secret);
    const again = replay(file, { redact });
    const request = ask("The word is correct horse, tell bob@example.org and eve@example.org");
    expect((await again.generate(request)).message.content).toBe("[redacted] says hello");
  });

  test("of those that were named, as they stand in the arguments of a call", async () => {
    const file = temporaryFile("run.jsonl");
    const secret = 'corr"ect\\horse\nstaple';
    const answer = { toolCalls: [{ name: "login", arguments: { password: secret } }] };
    const live = record(scriptedModel([answer, answer]), file, { redact: [secret] });
    await live.generate(ask("log in"));
    await collect(stream(live, ask("log in again")));
    expect(readFileSync(file, "utf8")).not.toMatch(/horse|staple/);
  });

  test("T13: texts to redact are found in any letter case, in URLs, base64 and JSON; short ones as they are", async () => {
    const file = temporaryFile("run.jsonl");
    const secret = "Canary-Key/47+11=";
    const forms = [secret.toUpperCase(), encodeURIComponent(secret).toLowerCase(), btoa(secret)];
    const redact = [secret, "Ann"];
    const live = record(scriptedModel([`${forms.join(" ")} Canary\\u002DKEY Ann cannot`]), file, { redact });
    await live.generate(ask(`CANARY-key/47+11= ${secret}`));
    const again = replay(file, { redact });
    const { message } = await again.generate(ask(`${secret} ${secret.toLowerCase()}`));
    expect(message.content).toBe("[redacted] [redacted] [redacted] Canary\\u002DKEY [redacted] cannot");
  });

  test("a cassette from before a text was to be redacted is replayed with it too", async () => {
    const file = temporaryFile("run.jsonl");
    await record(scriptedModel(["hello"]), file).generate(ask("I am Ada Lovelace"));
    const again = replay(file, { redact: ["ada lovelace"] });
    expect((await again.generate(ask("I am Ada Lovelace"))).message.content).toBe("hello");
  });

  test("the difference to such a cassette does not show the text, and has only what really differs", async () => {
    const file = temporaryFile("run.jsonl");
    await record(scriptedModel(["hello"]), file).generate(ask("I am Ada Lovelace.\nHow are you?"));
    const again = replay(file, { redact: ["ada lovelace"] });
    const error = await failureOf(again.generate(ask("I am Ada Lovelace.\nWho are you?")));
    if (!(error instanceof UnrecordedRequestError)) throw new TypeError("it is not recorded");
    expect(error.diff).not.toContain("Ada");
    expect(error.diff.split("\n").filter((line) => /^[-+][^-+]/.test(line))).toEqual([
      "-How are you?",
      "+Who are you?",
    ]);
  });

  test("whose pattern fits what stands in its place, or whose client is called like it", async () => {
    for (const redact of [[/\b(?:redacted|word)\b/], ["act", "word"], ["scripted", "word"]]) {
      const file = temporaryFile("run.jsonl");
      const live = record(scriptedModel(["a word"]), file, { redact });
      await live.generate(ask("the word"));
      const again = replay(file, { redact });
      const { message } = await again.generate(ask("the word"));
      expect(message.content).toBe("a [redacted]");
    }
  });
});

describe("a cassette's file", () => {
  test.each(["whole", "streamed"])(
    "holds nothing of a call for which the disk had no room (%s), and goes on after it",
    { timeout: 60_000 },
    async (how) => {
      const file = temporaryFile("run.jsonl");
      const child = fileURLToPath(new URL("./children/cassette-writer.ts", import.meta.url));
      const program = [process.execPath, "--conditions=@ravi/source", child, file, how];
      const { stdout } = spawnSync("sh", ["-c", 'ulimit -f 32; exec "$@"', "sh", ...program]);
      const told = stdout.toString().split("\n");
      expect(told).toEqual(["recorded", expect.stringContaining("run.jsonl"), "recorded", ""]);
      expect(told[1]).toContain("a file that can be written: EFBIG");
      const again = replay(file);
      expect((await again.generate(ask("first"))).message.content).toBe("fine");
      expect((await again.generate(ask("last"))).message.content).toBe("fine");
      // Neither its answer, nor a failure that it never had.
      await expect(again.generate(ask("large"))).rejects.toThrow(UnrecordedRequestError);
    },
  );

  test("is readable when its last line is torn, and goes on after it", async () => {
    const file = temporaryFile("run.jsonl");
    await recording(["1"], file).generate(ask("a"));
    appendFileSync(file, '{"type":"call","client":"scripted/scr');
    expect((await replay(file).generate(ask("a"))).message.content).toBe("1");
    await record(scriptedModel(["2"]), file, { append: true }).generate(ask("b"));
    const again = replay(file);
    expect((await again.generate(ask("b"))).message.content).toBe("2");
    expect(again.unused.map(({ n }) => n)).toEqual([1]);
  });

  test("is read whole where an editor has left its last line open, or marked the encoding, or ended lines its own way", async () => {
    const file = temporaryFile("run.jsonl");
    const live = recording(["1", "2"], file);
    await live.generate(ask("a"));
    await live.generate(ask("b"));
    writeFileSync(file, `\uFEFF${readFileSync(file, "utf8").trimEnd().replaceAll("\n", "\r\n")}`);
    expect((await replay(file).generate(ask("b"))).message.content).toBe("2");
    await record(scriptedModel(["3"]), file, { append: true }).generate(ask("c"));
    const again = replay(file);
    for (const [asked, said] of [
      ["a", "1"],
      ["b", "2"],
      ["c", "3"],
    ] as const)
      expect((await again.generate(ask(asked))).message.content).toBe(said);
    again.assertAllUsed();
  });

  test("of one line is read whole, too, where an editor has marked the encoding and left it open", async () => {
    const file = temporaryFile("run.jsonl");
    const client = { type: "client", id: "scripted", info: { provider: "p", model: "m" }, streams: true };
    writeFileSync(file, `\uFEFF${JSON.stringify(client)}`);
    await record(scriptedModel(["1"]), file).generate(ask("a"));
    expect(readFileSync(file, "utf8").split("\n")[0]).toContain('"provider":"p"');
    expect((await replay(file, { id: scriptedModel([]).id }).generate(ask("a"))).message.content).toBe("1");
  });

  test("keeps the words by which it is read, however broad a pattern is", async () => {
    const file = temporaryFile("run.jsonl");
    const redact = ["user", "text", /stop|RATE|ERROR/];
    const failure = new ProviderError({ kind: "RATE_LIMIT", message: "a user must stop" });
    const live = record(scriptedModel(["the text", failure]), file, { redact });
    await collect(stream(live, ask("a user")));
    await failureOf(live.generate(ask("again")));
    const again = replay(file, { redact });
    const { message, finishReason } = (await again.generate(ask("a user"))) ?? {};
    expect([message.role, message.content, finishReason]).toEqual(["assistant", "the [redacted]", "stop"]);
    const error = await failureOf(again.generate(ask("again")));
    expect(error).toMatchObject({
      code: "PROVIDER_ERROR",
      kind: "RATE_LIMIT",
      message: "a [redacted] must [redacted]",
    });
    expect(readFileSync(file, "utf8")).not.toContain("a user");
  });

  test("keeps a stream that ended without a finish, as it was", async () => {
    const file = temporaryFile("run.jsonl");
    const live = recording([{ text: "half", fault: { type: "unfinished" } }], file);
    const heard = await collect(stream(live, ask("a")));
    expect(await collect(stream(replay(file), ask("a")))).toEqual(heard);
  });

  test("and what is to be kept out of it are checked", () => {
    const file = temporaryFile("run.jsonl");
    const model = scriptedModel(["1"]);
    expect(() => record(model, "")).toThrow(/the path of a file/);
    expect(() => Reflect.apply(record, undefined, [model])).toThrow(
      /cassette is undefined; expected the path/,
    );
    const taken = temporaryFile("taken");
    writeFileSync(taken, "");
    expect(() => record(model, `${taken}/run.jsonl`)).toThrow(
      /cassette is ".*"; expected a file that can be/,
    );
    expect(() => record(model, file, { redact: "secret" as never })).toThrow(
      /a list of strings and regular expressions/,
    );
    expect(() => record(model, file, { append: "yes" as never })).toThrow(/append/);
    expect(() => replay(file, { normalize: "x" as never })).toThrow(/normalize/);
  });

  test("names the line that is damaged", async () => {
    const file = temporaryFile("run.jsonl");
    await recording(["1"], file).generate(ask("a"));
    for (const line of ["not json", "[]", "null", '{"type":"call"}', '{"type":"song"}', ...UNTOLD]) {
      writeFileSync(`${file}.broken`, `${readFileSync(file, "utf8")}${line}\n`);
      expect(() => replay(`${file}.broken`)).toThrow(/run\.jsonl\.broken:3 is .*record the cassette again/s);
    }
  });

  test("is not recorded over by mistake", async () => {
    const file = temporaryFile("run.jsonl");
    await recording(["1"], file).generate(ask("a"));
    expect(() => recording(["2"], file)).toThrow(/delete it to record again, or set append: true/);
  });

  test("that is not there, is empty or has another client is an error that says what to do", () => {
    const file = temporaryFile("run.jsonl");
    expect(() => replay(file)).toThrow(/a file that record\(\) has written/);
    writeFileSync(file, "");
    expect(() => replay(file)).toThrow(/a cassette with calls/);
  });

  test("may be edited by hand: the request is what counts, not a hash", async () => {
    const file = temporaryFile("run.jsonl");
    await recording(["one"], file).generate(ask("How old?"));
    writeFileSync(
      file,
      readFileSync(file, "utf8").replaceAll("How old?", "How young?").replaceAll('"one"', '"two"'),
    );
    expect((await replay(file).generate(ask("How young?"))).message.content).toBe("two");
  });
});

test("a cassette is begun also where the errors of the disk are of another realm, as in jest", async () => {
  const file = temporaryFile("run.jsonl");
  const elsewhere: unknown = runInNewContext('Object.assign(new Error("ENOENT"), { code: "ENOENT" })');
  const spy = vi.spyOn(fs, "readFileSync").mockImplementation(() => {
    throw elsewhere;
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  expect((await recording(["hi"], file).generate(ask("?"))).message.content).toBe("hi");
});
