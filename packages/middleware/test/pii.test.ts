import { describe, expect, it } from "vitest";
import {
  type AgentRunContext,
  type AssistantMessage,
  type ChatContext,
  type FunctionContext,
  type LLMClient,
  type ModelEvent,
  type StreamTransform,
  isRaviError,
} from "@ravi/kernel";
import {
  contentFilter,
  linearPattern,
  MiddlewarePipeline,
  piiRedaction,
  piiRunRedaction,
  piiToolRedaction,
  wrapModel,
} from "@ravi/middleware";
import {
  agentContext,
  answer,
  chatContext,
  closedGate,
  fakeModel,
  functionContext,
  user,
} from "./support.ts";
import { redactionOf } from "../src/text/redactor.ts";

const redaction = redactionOf("test", {});
const redact = (text: string, json = false): string => redaction.whole(text, new Map(), json);

describe("R27: what is taken for personal data", () => {
  it.each([
    ["write to alice@example.com.", "write to [EMAIL]."],
    ["<bob.smith+news@mail.example.co.uk>, thanks", "<[EMAIL]>, thanks"],
    ["ивану: ivan@xn--e1afmkfd.xn--p1ai!", "ивану: [EMAIL]!"],
    ["请联系alice@example.com谢谢", "请联系[EMAIL]谢谢"],
    ["müller@example.com, info@bücher.example; jose\u0301@ex.com", "[EMAIL], [EMAIL]; [EMAIL]"],
    [
      "https://x.example/?to=alice%40example.com&n=1 mailto:bob%40mail.example",
      "https://x.example/?to=[EMAIL]&n=1 mailto:[EMAIL]",
    ],
    ["иван.петров@пример.рф и alice＠example．com", "[EMAIL] и [EMAIL]"],
    ["4111\u202f1111\u202f1111\u202f1111 4111\u20111111\u20111111\u20111111", "[CARD] [CARD]"],
    ["４１１１－１１１１－１１１１－１１１１、", "[CARD]、"],
    ["+49\u00a0171\u00a01234567, (415)\u00a0555\u20112671", "[PHONE], [PHONE]"],
    ["+٩٦٦ ٥٠ ١٢٣ ٤٥٦٧ +۹۸ ۲۱ ۱۲۳۴ ۵۶۷۸ +९१ ९८७६५ ४३२१०", "[PHONE] [PHONE] [PHONE]"],
    ["0044 20 7946 0958, 00 49 171 1234567", "[PHONE], [PHONE]"],
    ["DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000", "[IBAN]"],
    [`${"x".repeat(200)}@example.com`, `${"x".repeat(136)}[EMAIL]`],
    ["pay with 4111 1111 1111 1111 now", "pay with [CARD] now"],
    ["4111-1111-1111-1111,5500005555555559;378282246310005", "[CARD],[CARD];[CARD]"],
    ["3782 822463 10005", "[CARD]"],
    ["4111 1111 1111 1111 4012 8888 8888 1881", "[CARD] [CARD]"],
    ["from 192.168.0.1, 10.0.0.255.", "from [IP], [IP]."],
    ["fe80::1 and 2001:db8:85a3::8a2e:370:7334", "[IP] and [IP]"],
    ["2001:0db8:0000:0000:0000:ff00:0042:8329 ::ffff:10.0.0.1", "[IP] [IP]"],
    ["call +49 171 1234567 or +1 (415) 555-2671", "call [PHONE] or [PHONE]"],
    ["(415) 555-2671, 415-555-2671, 1-415-555-2671, 415.555.2671", "[PHONE], [PHONE], [PHONE], [PHONE]"],
    ["020 7946 0958 0171/1234567", "[PHONE] [PHONE]"],
    ["DE89 3704 0044 0532 0130 00, GB29NWBK60161331926819", "[IBAN], [IBAN]"],
    ["nl91abna0417164300", "[IBAN]"],
    ["key=sk-proj-abcdefghij1234567890ABCDEF;", "key=[SECRET];"],
    ["sk-ant-api03-abcdefghij1234567890", "[SECRET]"],
    ["AKIAIOSFODNN7EXAMPLE ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[SECRET] [SECRET]"],
    ["xoxb-123456789012-abcdef, AIzaSyA-1234567890abcdefghijklmnopqrstu", "[SECRET], [SECRET]"],
    ["Authorization: Bearer abcdefghij1234567890==", "Authorization: [SECRET]"],
    ["Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==", "Authorization: [SECRET]"],
    ["gsk_abcdefghijkl0123456789ABCD xai-abcdefghijkl0123456789ABCD", "[SECRET] [SECRET]"],
    ["pplx-abcdefghijkl0123456789ABCD, r8_abcdefghijkl0123456789ABCD", "[SECRET], [SECRET]"],
    ["hf_abcdefghijkl0123456789ABCDEFGH npm_abcdefghijkl0123456789ABCDEFGHIJKLMN", "[SECRET] [SECRET]"],
    ["glpat-abcdefghijkl0123456789;whsec_abcdefghijkl01234567", "[SECRET];[SECRET]"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123 end", "[SECRET] end"],
    [`eyJhbGciOiJIUzI1NiJ9.${"eyJzdWIi".repeat(2_000)}.sig end`, "[SECRET] end"],
    [
      "a\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\nMIIE+/=\nabc\n-----END RSA PRIVATE KEY-----\nb",
      "a\n[SECRET]\nb",
    ],
  ])("R27: %j", (text, expected) => {
    expect(redact(text)).toBe(expected);
    expect(redact(expected)).toBe(expected);
  });

  const BODY = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu",
    "NMoSfm76oqFvAp8Gy0iz5sxjZmSnXyCdPEovGhLa0VzMaQ8s+CLOyS56YyCFGeJZ",
    "Ag==",
  ];
  const KEY = ["-----BEGIN PRIVATE KEY-----", ...BODY, "-----END PRIVATE KEY-----"];
  const HEADED = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "Proc-Type: 4,ENCRYPTED",
    "DEK-Info: AES-128-CBC,AB12",
    "",
    ...BODY,
    "-----END RSA PRIVATE KEY-----",
  ];

  it.each([
    ["indented, as in YAML", "\n  "],
    ["indented by a tab", "\n\t"],
    ["indented by many spaces", `\n${" ".repeat(60)}`],
    ["with line ends of Windows", "\r\n    "],
    ["with lines that became spaces", " "],
    ["with lines that became tabs", "\t"],
    ["quoted, as in a mail", "\n> "],
    ["in a comment", "\n# "],
    ["in a block of comment", "\n * "],
  ])("R27: a private key %s is taken out whole, whole or in pieces", (_how, between) => {
    for (const lines of [KEY, HEADED]) {
      const text = `key: |${between}${lines.join(between)}\nafter: it`;
      expect(redact(text)).toBe(`key: |${between}[SECRET]\nafter: it`);
      const filter = redaction.filter(new Map());
      expect(Array.from(text, (char) => filter.push(char)).join("") + filter.end()).toBe(redact(text));
      expect(JSON.parse(redact(JSON.stringify({ text }), true))).toEqual({ text: redact(text) });
    }
  });

  it("R27: a private key that was cut off is taken out as far as it goes", () => {
    expect(redact(`${KEY.slice(0, 3).join("\n  ")}\n  ${BODY[2]?.slice(0, 30)}`)).toBe("[SECRET]");
    expect(redact(KEY.slice(0, 4).join(" "))).toBe("[SECRET]");
  });

  it("R27: words after the head of a private key are left alone", () => {
    const said = "-----BEGIN PRIVATE KEY----- is how it begins. Note: send none";
    expect(redact(said)).toBe("[SECRET] is how it begins. Note: send none");
    const ended = `${KEY.slice(0, 4).join("\n  ")}\n  and so on: it is long`;
    expect(redact(ended)).toBe("[SECRET]  and so on: it is long");
  });

  it.each([
    "4111 1111 1111 1112 is no card, and 1731628800000 is a time",
    "100%40 off, %40example.com, a%40b",
    "no. 00123456789, müller@localhost, \u00a0@, 00 10 20, 2010–2015",
    "version 1.2.3.4.5, 300.1.1.1, std::add, a::b, 12:30:45, ::1",
    "2024-01-02 10:20, 01.02.2024, 3.14159265358979, order 123456789, 0.30000000000000004",
    "GB29NWBK60161331926818 and DE00 0000",
    "npm_package_dependencies_typescript_version, hf_hub_download_with_progress_bar, ASIA-PACIFIC_REGIONAL",
    "Basic understanding, basic JavaScript-2024-and-more, pplx-and-other-search-engines",
    "alice@localhost, @alice, a@b, sk-learn-based-classifiers, a Bearer of good news",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "eyJub3QiOiJhIHRva2VuIn0",
  ])("R27: %j is left alone", (text) => {
    expect(redact(text)).toBe(text);
  });

  it("R27: JSON stays JSON: escapes are whole, and a number becomes a text", () => {
    const args = {
      to: 'a "quoted" alice@example.com',
      lines: "x\nbob@example.com\tz",
      card: 4_111_111_111_111_111,
      key: "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n",
      é: "ü alice@example.com",
    };
    expect(JSON.parse(redact(JSON.stringify(args), true))).toEqual({
      to: 'a "quoted" [EMAIL]',
      lines: "x\n[EMAIL]\tz",
      card: "[CARD]",
      key: "[SECRET]\n",
      é: "ü [EMAIL]",
    });
  });

  it("R27: what JSON hides behind escapes is found in the whole text", () => {
    const hidden = '{"to":"alice\\u0040example.com","name":"Zo\\u00eb"}';
    expect(JSON.parse(redact(hidden, true))).toEqual({ to: "[EMAIL]", name: "Zoë" });
    const harmless = '{ "name": "Zo\\u00eb" }';
    expect(redact(harmless, true)).toBe(harmless);
  });

  const HIDDEN: readonly (readonly [string, string])[] = [
    ["sk-proj-AbCd1234567890efghIJKL", "[SECRET]"],
    ["AKIAIOSFODNN7EXAMPLE", "[SECRET]"],
    ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[SECRET]"],
    ["Bearer abcdefghij1234567890==", "[SECRET]"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123", "[SECRET]"],
    ["4111 1111 1111 1111", "[CARD]"],
    ["DE89 3704 0044 0532 0130 00", "[IBAN]"],
    ["192.168.0.1", "[IP]"],
    ["2001:db8:85a3::8a2e:370:7334", "[IP]"],
    ["415-555-2671", "[PHONE]"],
    ["+49 171 1234567", "[PHONE]"],
    ["alice@example.com", "[EMAIL]"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\nabc\n-----END RSA PRIVATE KEY-----", "[SECRET]"],
  ];

  it.each(HIDDEN)(
    "R27: %j is found after any escape, in JSON text of any depth, which stays JSON",
    (secret, mark) => {
      for (const escape of ["\n", "\t", "\r", "\b", "\f", '"', "\u0001"]) {
        const [value, expected] = [{ out: `key:${escape}${secret}` }, { out: `key:${escape}${mark}` }];
        const text = JSON.stringify(value);
        expect(JSON.parse(redact(text))).toEqual(expected);
        expect(JSON.parse(redact(text, true))).toEqual(expected);
        const twice = JSON.stringify({ body: text });
        for (const json of [false, true])
          expect(JSON.parse(JSON.parse(redact(twice, json)).body)).toEqual(expected);
        const thrice = JSON.stringify([twice]);
        for (const json of [false, true])
          expect(JSON.parse(JSON.parse(JSON.parse(redact(thrice, json))[0]).body)).toEqual(expected);
      }
    },
  );

  it("R27: a path with backslashes loses what it must, and at most a letter stays of an address", () => {
    expect(redact("C:\\new\\alice@example.com")).toBe("C:\\new\\[EMAIL]");
    expect(redact("C:\\temp\\nancy@example.com")).toBe("C:\\temp\\n[EMAIL]");
    for (const path of ["C:\\new\\temp\\users\\u00e\\file.txt", "\\\\server\\share\\", "a\\"])
      expect(redact(path)).toBe(path);
  });

  it("R27: own texts are found as they are written, and as JSON writes them", () => {
    const own = redactionOf("test", {
      kinds: ["email"],
      patterns: [
        { name: "SHARE", text: "C:\\new\\deals" },
        { name: "NAME", text: "nora" },
        { name: "QUOTE", text: 'say "no"\nthen' },
      ],
    });
    const clean = (text: string, json = false): string => own.whole(text, new Map(), json);
    expect(clean("see C:\\new\\deals and D:\\nora\\x")).toBe("see [SHARE] and D:\\[NAME]\\x");
    const value = { a: "C:\\new\\deals", b: "D:\\nora", c: 'say "no"\nthen' };
    const expected = { a: "[SHARE]", b: "D:\\[NAME]", c: "[QUOTE]" };
    expect(JSON.parse(clean(JSON.stringify(value), true))).toEqual(expected);
    // A mark of the format is no part of a text.
    const marks = redactionOf("test", { patterns: [{ name: "MARKS", text: 'a":"b' }] });
    expect(marks.whole('{"a":"b"}', new Map(), true)).toBe('{"a":"b"}');
  });

  it("R27: own expressions find what stands after an escape, and JSON stays JSON", async () => {
    const own = redactionOf("test", { patterns: [await linearPattern("EMPLOYEE", /\bE-\d{4}\b/)] });
    const value = { out: "who:\nE-1234\tE-5678 is E-0000", n: 'x"E-1111' };
    const expected = { out: "who:\n[EMPLOYEE]\t[EMPLOYEE] is [EMPLOYEE]", n: 'x"[EMPLOYEE]' };
    for (const json of [false, true]) {
      expect(JSON.parse(own.whole(JSON.stringify(value), new Map(), json))).toEqual(expected);
      const twice = own.whole(JSON.stringify([JSON.stringify(value)]), new Map(), json);
      expect(JSON.parse(JSON.parse(twice)[0])).toEqual(expected);
    }
  });

  it("R27: own expressions are for texts, names and numbers of JSON, which stays JSON and is otherwise left as it is", async () => {
    const own = redactionOf("test", { patterns: [await linearPattern("EMPLOYEE", /\b\d{4}\b/)] });
    const filter = own.filter(new Map(), true);
    const clean = (json: string): string => filter.push(json) + filter.end();
    for (const [json, expected] of [
      ['{ "id": 1234, "n": [12, true, null] }', { id: "[EMPLOYEE]", n: [12, true, null] }],
      ['[{"of 1234": {"text": "1234!"}}]', [{ "of [EMPLOYEE]": { text: "[EMPLOYEE]!" } }]],
      ["1234", "[EMPLOYEE]"],
    ] as const)
      expect(JSON.parse(clean(json))).toEqual(expected);
    for (const json of ['{ "id" : 12345, "n": [ 12, {} ],\n"t":"\\u0041" }', "null", "12.50"])
      expect(clean(json)).toBe(json);
    expect(clean("no JSON: 1234, 12")).toBe("no JSON: [EMPLOYEE], 12");
  });

  it("R27: a text of one's own is found as it is written, also in a word, and in any case only if told so", () => {
    const found = (pattern: { name: string; text: string; ignoreCase?: boolean }): string =>
      redactionOf("test", { patterns: [pattern] }).whole("Nora, nora, Noras", new Map());
    expect(found({ name: "NAME", text: "Nora" })).toBe("[NAME], nora, [NAME]s");
    expect(found({ name: "NAME", text: "Nora", ignoreCase: true })).toBe("[NAME], [NAME], [NAME]s");
  });

  it.each([[""], ["x".repeat(1_025)], [5]])("R27: a text of one's own has 1 to 1,024 characters", (text) => {
    const attempt = (): unknown => piiRedaction({ patterns: [{ name: "X", text: text as string }] });
    expect(attempt).toThrow(expect.objectContaining({ field: "piiRedaction.patterns[0].text" }));
    piiRedaction({ patterns: [{ name: "X", text: "x".repeat(1_024) }] });
  });

  it("R27: an escape inside of a secret hides nothing of it, in a stream neither", () => {
    const key = "abcdefgh12345678ijkl";
    for (const [text, expected] of [
      [`{"h":"Bearer ${key}\\/SECRETREST99999\\/more"}`, '{"h":"[SECRET]"}'],
      ['{"h":"Bearer abc\\/efgh12345678ijkl\\/x"}', '{"h":"[SECRET]"}'],
      ['{"to":"alice\\u0040example.com","n":1}', '{"to":"[EMAIL]","n":1}'],
      ['{"to":"\\u0061lice@example\\u002Ecom"}', '{"to":"[EMAIL]"}'],
      ['{"n":"\\u002B49 171 1234567"}', '{"n":"[PHONE]"}'],
    ] as const) {
      for (const json of [false, true]) {
        expect(redact(text, json)).toBe(expected);
        const filter = redaction.filter(new Map(), json);
        expect(Array.from(text, (char) => filter.push(char)).join("") + filter.end()).toBe(expected);
      }
      const nested = JSON.stringify({ body: text });
      expect(JSON.parse(redact(nested, true))).toEqual({ body: expected });
    }
  });

  it("R27: numbered placeholders give the same value the same number", () => {
    const numbered = redactionOf("test", { numbered: true });
    expect(numbered.whole("a@x.org b@x.org a@x.org 10.0.0.1", new Map())).toBe(
      "[EMAIL_1] [EMAIL_2] [EMAIL_1] [IP_1]",
    );
  });

  it("R27: kinds can be chosen, own texts and expressions added", async () => {
    const own = redactionOf("test", {
      kinds: ["email"],
      patterns: [
        { name: "PROJECT", text: "Blue Moon", ignoreCase: true },
        await linearPattern("EMPLOYEE", /\bE-\d{4,}\b/),
      ],
    });
    expect(own.whole("blue moon, E-12345, e-1, a@x.org, 10.0.0.1\nE-0001", new Map())).toBe(
      "[PROJECT], [EMPLOYEE], e-1, [EMAIL], 10.0.0.1\n[EMPLOYEE]",
    );
    expect(JSON.parse(own.whole('{"who":"E-12345","n":[1,"Blue Moon"]}', new Map(), true))).toEqual({
      who: "[EMPLOYEE]",
      n: [1, "[PROJECT]"],
    });
  });

  it.each([
    { sides: "inputs" },
    { numbered: "yes" },
    { kinds: ["ssn"] },
    { kinds: "email" },
    { patterns: "x" },
    { patterns: ["x"] },
    { patterns: [{ name: "PROJECT", text: "Blue Moon", ignoreCase: "yes" }] },
    { kind: "email" },
  ])("R27: the options %j are refused", (options) => {
    expect(() => piiRedaction(options as Parameters<typeof piiRedaction>[0])).toThrow(/piiRedaction\./);
  });

  it("T16: an own expression runs on a linear engine or is refused", async () => {
    // @ts-expect-error a plain RegExp may take for ever
    expect(() => piiRedaction({ patterns: [/(a+)+$/] })).toThrow(/linearPattern/);
    // @ts-expect-error the same
    expect(() => contentFilter({ blocked: [/(a+)+$/] })).toThrow(/linearPattern/);
    for (const refused of [/(?=a)b/, /(a)\1/, /(?<!a)b/]) {
      await expect(linearPattern("X", refused)).rejects.toThrow(/back references and look-around/);
    }
    await expect(linearPattern("not a name!", /a/)).rejects.toThrow(/letters/);
    const evil = await linearPattern("EVIL", /(a+)+$/);
    expect(evil.ranges(`${"a".repeat(20_000)}b`)).toEqual([]);
  });
});

describe("R27: piiRedaction", () => {
  it("T9: cleans the input in admit, before anything of the call is written down", () => {
    const context = chatContext({
      messages: [
        { role: "system", content: "Help bob@example.com" },
        {
          role: "user",
          content: [
            { type: "text", text: "I am alice@example.com" },
            { type: "image", url: "data:x" },
            { type: "file", url: "data:x", mediaType: "a/b", name: "alice@example.com.pdf" },
            { type: "file", url: "data:x", mediaType: "a/b" },
          ],
        },
        {
          role: "assistant",
          content: "",
          toolCalls: [{ id: "1", name: "mail", arguments: '{"to":"alice@example.com"}' }],
        },
        { role: "tool", toolCallId: "1", name: "mail", content: "sent to alice@example.com" },
      ],
    });
    expect(new MiddlewarePipeline<ChatContext>([piiRedaction()]).admit(context, closedGate)).toBeUndefined();
    expect(JSON.stringify(context.request)).not.toContain("@");
    expect(context.request.messages[1]?.content).toEqual([
      { type: "text", text: "I am [EMAIL]" },
      { type: "image", url: "data:x" },
      { type: "file", url: "data:x", mediaType: "a/b", name: expect.stringContaining("[EMAIL]") as unknown },
      { type: "file", url: "data:x", mediaType: "a/b" },
    ]);
    expect(context.request.messages[2]).toMatchObject({ toolCalls: [{ arguments: '{"to":"[EMAIL]"}' }] });
  });

  it("T9: a run's input is cleaned in admit too, and its output at the end", async () => {
    const context = agentContext({ input: "I am alice@example.com" });
    const pipeline = new MiddlewarePipeline<AgentRunContext>([piiRunRedaction()]);
    await pipeline.admit(context, closedGate);
    expect(context.input).toBe("I am [EMAIL]");
    await pipeline.run(context, async () => {
      context.result = { status: "completed", output: "hello 10.0.0.1", stopReason: "done" };
    });
    expect(context.result?.output).toBe("hello [IP]");
  });

  it("R27: a run's input is cleaned also where nobody calls admit", async () => {
    const context = agentContext({ input: "I am alice@example.com" });
    const seen: string[] = [];
    await new MiddlewarePipeline<AgentRunContext>([piiRunRedaction()]).run(context, async () => {
      seen.push(context.input);
    });
    expect(seen).toEqual(["I am [EMAIL]"]);
  });

  it("a tool's result is cleaned, and the raw value goes with it", async () => {
    const context = functionContext();
    await new MiddlewarePipeline<FunctionContext>([piiToolRedaction()]).run(context, async () => {
      context.result = { content: "alice@example.com", isError: false, value: { mail: "alice@example.com" } };
    });
    expect(context.result).toEqual({ content: "[EMAIL]", isError: false });
  });

  it("R27: a tool's result that is JSON is clean JSON: after escapes, and with a number in it", async () => {
    const clean = async (content: string): Promise<unknown> => {
      const context = functionContext();
      await new MiddlewarePipeline<FunctionContext>([piiToolRedaction()]).run(context, async () => {
        context.result = { content, isError: false };
      });
      return context.result?.content;
    };
    const value = {
      stdout: "key:\nsk-proj-AbCd1234567890efghIJKL\nalice@example.com",
      card: 4_111_111_111_111_111,
    };
    expect(JSON.parse(String(await clean(JSON.stringify(value))))).toEqual({
      stdout: "key:\n[SECRET]\n[EMAIL]",
      card: "[CARD]",
    });
    expect(await clean("[the card] 4111111111111111")).toBe("[the card] [CARD]");
  });

  const ran = async (result: AgentRunContext["result"], numbered = false) => {
    const context = agentContext();
    await new MiddlewarePipeline<AgentRunContext>([piiRunRedaction({ numbered })]).run(context, async () => {
      context.result = result;
    });
    return context.result;
  };
  const done = { status: "completed", stopReason: "done" } as const;

  it("R27: what is wrong with an answer is cleaned, or left out if it may quote a part of what was redacted", async () => {
    const invalid = { status: "partial", stopReason: "invalid" } as const;
    const cut = { ...invalid, output: "Ask alice@example.com", problem: 'the answer is "Ask alice@exam..."' };
    expect(await ran(cut)).toEqual({ ...invalid, output: "Ask [EMAIL]" });
    const plain = { ...invalid, output: '{"to":1}', problem: "to: expected one like alice@example.com" };
    expect(await ran(plain)).toEqual({ ...plain, problem: "to: expected one like [EMAIL]" });
  });

  it("R27: a run's structured value is cleaned like its output, in a copy", async () => {
    const structured = {
      who: { mail: "alice@example.com", ages: [1, 2] },
      at: new Date(0),
      lines: ["fine", "key:\nbob@example.com alice@example.com"],
    };
    const output = JSON.stringify(structured);
    const result = await ran({ ...done, output, structured }, true);
    const clean = {
      who: { mail: "[EMAIL_1]", ages: [1, 2] },
      at: new Date(0),
      lines: ["fine", "key:\n[EMAIL_2] [EMAIL_1]"],
    };
    expect(result).toEqual({ ...done, output: JSON.stringify(clean), structured: clean });
    expect(structured.who.mail).toBe("alice@example.com");
    const harmless = { a: ["b", 1, null, undefined, true], at: new Date(0) };
    expect((await ran({ ...done, output: "", structured: harmless }))?.structured).toBe(harmless);
    expect(await ran({ ...done, output: "x" })).toEqual({ ...done, output: "x" });
  });

  it("R27: a structured value that cannot be cleaned and keep its form is not handed on", async () => {
    const cyclic: Record<string, unknown> = { mail: "alice@example.com" };
    cyclic["self"] = cyclic;
    let deep: unknown = "alice@example.com";
    for (let at = 0; at < 10_000; at++) deep = [deep];
    class Person {
      readonly mail = "alice@example.com";
    }
    const trap = {
      get mail(): string {
        throw new Error("trap");
      },
    };
    for (const structured of [
      { "alice@example.com": 1 },
      { card: 4_111_111_111_111_111 },
      { card: 4_111_111_111_111_111n },
      new Map([["mail", "alice@example.com"]]),
      { who: new Person() },
      { [Symbol("mail")]: "alice@example.com" },
      /(.*)/.exec("alice@example.com"),
      () => "alice@example.com",
      cyclic,
      deep,
      trap,
    ])
      expect(await ran({ ...done, output: "x", structured })).toStrictEqual({ ...done, output: "x" });
    // What many share is looked at once.
    let shared: unknown = ["x"];
    for (let at = 0; at < 60; at++) shared = [shared, shared];
    expect((await ran({ ...done, output: "x", structured: shared }))?.structured).toBe(shared);
  });

  it("R27: a tool's raw value goes where it holds what its text does not show, or cannot be looked into", async () => {
    const kept = async (value: unknown): Promise<unknown> => {
      const context = functionContext();
      await new MiddlewarePipeline<FunctionContext>([piiToolRedaction()]).run(context, async () => {
        context.result = { content: "one hit", isError: false, value };
      });
      return context.result;
    };
    for (const value of [{ mail: "alice@example.com" }, ["10.0.0.1"], { "a@x.org": 1 }, new Map(), "a@x.org"])
      expect(await kept(value)).toStrictEqual({ content: "one hit", isError: false });
    const value = { hits: [{ title: "x" }] };
    expect(await kept(value)).toEqual({ content: "one hit", isError: false, value });
  });

  it("a request without anything to clean stays the same object", async () => {
    const context = chatContext();
    const { request } = context;
    await new MiddlewarePipeline<ChatContext>([piiRedaction()]).admit(context, closedGate);
    expect(context.request).toBe(request);
  });

  it("changed reasoning loses its signature, which no longer fits", async () => {
    const context = chatContext();
    const reasoning = {
      type: "reasoning",
      text: "alice@example.com",
      opaque: { provider: "x", data: "signed" },
    } as const;
    await new MiddlewarePipeline<ChatContext>([piiRedaction()]).run(context, async () => {
      context.result = answer("", {
        message: { role: "assistant", content: [reasoning, { ...reasoning, text: "nothing" }] },
      });
    });
    expect(context.result?.message.content).toEqual([
      { type: "reasoning", text: "[EMAIL]" },
      { ...reasoning, text: "nothing" },
    ]);
  });

  it("sides can be chosen", async () => {
    for (const [sides, input, output] of [
      ["input", "[EMAIL]", "b@x.org"],
      ["output", "a@x.org", "[EMAIL]"],
    ] as const) {
      const context = chatContext({ messages: [user("a@x.org")] });
      const pipeline = new MiddlewarePipeline<ChatContext>([piiRedaction({ sides })]);
      await pipeline.admit(context, closedGate);
      await pipeline.run(context, async () => {
        context.result = answer("b@x.org");
      });
      expect([context.request.messages[0]?.content, context.result?.message.content]).toEqual([
        input,
        output,
      ]);
    }
  });
});

async function transformOf(layer: ReturnType<typeof piiRedaction>): Promise<StreamTransform> {
  const context = chatContext();
  await new MiddlewarePipeline<ChatContext>([layer]).run(context, async () => {
    context.result = answer("");
  });
  const [transform] = context.transforms;
  if (transform === undefined) throw new Error("no transform was added");
  return transform;
}

describe("R27: streamed deltas", () => {
  it("text, reasoning and the arguments of each call are streams of their own", async () => {
    const transform = await transformOf(piiRedaction());
    const events: ModelEvent[] = [
      { type: "reasoning", delta: "ask bob@exa" },
      { type: "text", delta: "mail alice@" },
      { type: "toolCall", index: 0, id: "c0", name: "mail", delta: '{"to":"ali' },
      { type: "toolCall", index: 1, id: "c1", name: "mail", delta: '{"to":"x' },
      { type: "toolCall", index: 0, delta: 'ce@example.com"}' },
      { type: "text", delta: "example.com now" },
      { type: "toolCall", index: 1, delta: '@example.com"}' },
      { type: "reasoning", delta: "mple.com" },
    ];
    const out = [...events.flatMap((event) => transform.push(event)), ...transform.flush()];
    const joined = (of: (event: ModelEvent) => boolean): string =>
      out.map((event) => (of(event) && event.type !== "finish" ? event.delta : "")).join("");
    expect(joined(({ type }) => type === "text")).toBe("mail [EMAIL] now");
    expect(joined(({ type }) => type === "reasoning")).toBe("ask [EMAIL]");
    expect(joined((event) => event.type === "toolCall" && event.index === 0)).toBe('{"to":"[EMAIL]"}');
    expect(joined((event) => event.type === "toolCall" && event.index === 1)).toBe('{"to":"[EMAIL]"}');
    expect(out.filter((event) => event.type === "toolCall" && event.id !== undefined)).toHaveLength(2);
  });

  it("a finish event brings the rest before it, and is clean itself", async () => {
    const transform = await transformOf(piiRedaction());
    expect(transform.push({ type: "text", delta: "alice@example.com" })).toEqual([]);
    expect(transform.push({ type: "finish", response: answer("alice@example.com") })).toEqual([
      { type: "text", delta: "[EMAIL]" },
      { type: "finish", response: answer("[EMAIL]") },
    ]);
    expect(transform.flush()).toEqual([]);
  });

  it("a call that is tried again has one transform, which begins anew", async () => {
    const context = chatContext();
    const twice = async (
      _context: ChatContext,
      next: { (): Promise<void>; again(): Promise<void> },
    ): Promise<void> => {
      await next();
      context.transforms[0]?.push({ type: "text", delta: "half of alice@" });
      await next.again();
    };
    await new MiddlewarePipeline<ChatContext>([twice, piiRedaction()]).run(context, async () => {
      context.result = answer("");
    });
    expect(context.transforms).toHaveLength(1);
    expect(context.transforms[0]?.flush()).toEqual([]);
  });

  it("a content filter stops a stream before the word is out", async () => {
    const transform = await transformOf(contentFilter({ blocked: ["top secret"] }));
    expect(transform.push({ type: "text", delta: "this is to" })).toEqual([
      { type: "text", delta: "this is " },
    ]);
    expect(transform.push({ type: "text", delta: "p sec" })).toEqual([]);
    try {
      transform.push({ type: "text", delta: "ret stuff" });
      expect.unreachable();
    } catch (error) {
      expect(isRaviError(error, "MIDDLEWARE_TERMINATION") && error.layer).toBe("contentFilter");
    }
  });
});

describe("R27: an answer in several parts is cleaned where they meet, too, as it is when it is streamed", () => {
  const said = async (content: AssistantMessage["content"]): Promise<AssistantMessage["content"]> => {
    const model: LLMClient = {
      ...fakeModel("parts"),
      generate: async () => ({ message: { role: "assistant", content }, finishReason: "stop" }),
    };
    return (await wrapModel(model, [piiRedaction()]).generate({ messages: [user("hello")] })).message.content;
  };
  const text = (words: string) => ({ type: "text", text: words }) as const;
  const thought = (words: string) => ({ type: "reasoning", text: words }) as const;

  it("an address that begins in one part and ends in the next", async () => {
    const content = await said([text("ask ada@exam"), thought("hm"), text("ple.org, or bob@example.org")]);
    expect(content).toEqual([text("ask [EMAIL], or [EMAIL]"), thought("hm")]);
  });

  it("one in the thoughts", async () => {
    const content = await said([thought("ada@exam"), text("yes"), thought("ple.org")]);
    expect(content).toEqual([thought("[EMAIL]"), text("yes")]);
  });

  it("parts that hide nothing together stay apart", async () => {
    const content = [text("ask ada@example.org"), text(" or nobody")];
    expect(await said(content)).toEqual([text("ask [EMAIL]"), text(" or nobody")]);
  });
});
