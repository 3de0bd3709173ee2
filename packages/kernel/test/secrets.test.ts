import { describe, expect, test } from "vitest";
import { checkFields, checkInteger, InvalidValueError } from "@ravi/kernel";
import { KEY_SHAPES, secretPatterns, secretRemover } from "@ravi/kernel/loop";
import { secretForms } from "../src/core/secrets.ts";

const PATTERNS = secretPatterns("[x]");
const clean = (text: string): string =>
  PATTERNS.reduce((so, [pattern, instead]) => so.replaceAll(pattern, instead), text);

const BODY = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9nO2";

describe("T13: what looks like a secret", () => {
  test.each(KEY_SHAPES)("T13: $prefix and $least characters", ({ prefix, least, isUpper }) => {
    const key = prefix + (isUpper === true ? BODY.toUpperCase() : BODY).slice(0, least);
    expect(clean(`key=${key}, and on`)).toBe("key=[x], and on");
    expect(clean(`"${key}"`)).toBe('"[x]"');
  });

  test.each([
    ["sk-proj-0123456789abcdefghij", "[x]"],
    ["SG.abcdefghijklmnop0123.abcdefghijklmnop0123-x end", "[x] end"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123 end", "[x] end"],
    ["Authorization: bearer abcdefghijk", "Authorization: bearer [x]"],
    ["Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==", "Authorization: Basic [x]"],
    ["authorization: basic dXNlcjpwYXNz", "authorization: basic [x]"],
    ["Bearer abcdef", "Bearer [x]"],
    ["postgres://me:hunter2@db.local/x", "postgres://[x]@db.local/x"],
    ["https://token@host/x", "https://[x]@host/x"],
    ["/v1?client_secret=abc&n=1;code=4711#top", "/v1?client_secret=[x]&n=1;code=[x]#top"],
    [
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,X\n\n  MII+/=\n-----END RSA PRIVATE KEY-----\nb",
      "[x]\nb",
    ],
    ["-----BEGIN PRIVATE KEY-----\n  MIIE\n  abc", "[x]"],
  ])("T13: %j", (text, expected) => {
    expect(clean(text)).toBe(expected);
    expect(clean(expected)).toBe(expected);
  });

  test.each([
    "sk-learn-based-classifiers, npm_config_user_agent, key_not_found_error, pk_users_roles, hf_hub_download_file",
    "Basic understanding, Basic JavaScript-101, a bearer of news, the ASIA-PACIFIC-REGION",
    "task-4711-ABCDEFGH, risk_ABCDEFGH1, eyJub3QiOiJhIHRva2VuIn0, a//b, // see me@host.org",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "/search?q=keys&page=2",
  ])("T13: %j is left alone", (text) => {
    expect(clean(text)).toBe(text);
  });

  test.each([
    ["eyJ", "a", "the beginning of a token"],
    ["eyJaaaaaaaa.", "a", "a token"],
    ["eyJaaaaaaaa.aaaa", ".a", "a token of many parts"],
    ["sk-1", "a", "a key"],
    ["AKIA", "A", "a key of capitals"],
    ["SG.", "aaaaaaaa.", "a key of many parts"],
    ["Bearer ", "a", "what follows a scheme"],
    ["Basic 1", "a", "the same of Basic"],
    ["-----BEGIN PRIVATE KEY-----", "a-", "a private key"],
  ])("T13: %s and 20 million characters more are looked at without an error: %s, %s", (begin, piece) => {
    expect(clean(begin + piece.repeat(20_000_000 / piece.length))).toBeTypeOf("string");
  });

  // Not a matter of milliseconds: what is not linear takes minutes for these.
  test.each([
    "-eyJaaaaaaaa",
    "eyJaaaaaaaa.",
    "sk-",
    "sk-sk-a1 ",
    "Bearer ",
    "Bearer      ",
    "Basic aaaa",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----a-",
    "-----BEGIN A",
    "//a",
    "?a_key",
    "?key_",
    "AKIA",
    ".abcdefgh",
  ])("T16: a megabyte of %j is read in one go", (unit) => {
    const text = unit.repeat(Math.ceil(1_000_000 / unit.length));
    expect(clean(text).length).toBeLessThanOrEqual(text.length * 2);
  });
});

test("T13: a secret is written in each of these ways", () => {
  expect(secretForms('ä "b/-')).toEqual([
    'ä "b/-',
    "%C3%A4%20%22b%2F-",
    "%C3%A4%20%22b%2F-",
    "%C3%A4%20%22b%2F%2D",
    "%C3%A4+%22b%2F-",
    "%C3%A4%20%22b/-",
    'ä \\"b/-',
    'ä \\"b\\/-',
    'ä \\"b/-',
    '\\u00e4 \\"b/-',
    '\\u00e4 \\"b\\/-',
    "\\u00e4 \\u0022b/-",
    "\\u00e4\\u0020\\u0022\\u0062\\u002f\\u002d",
    "w6QgImIvLQ==",
    "w6QgImIvLQ",
    "w6QgImIvLQ",
  ]);
});

test.each([
  ["by PHP and Python in a URL", "key-(1)!/x y", "key-%281%29%21%2Fx%20y"],
  ["in a form", "key-(1)~/x y*", new URLSearchParams({ k: "key-(1)~/x y*" }).toString().slice(2)],
  ["by PHP in JSON", "key/1", String.raw`key\/1`],
  ["by Go in JSON", "key<1>&", String.raw`key\u003c1\u003e\u0026`],
  ["by Python in JSON", 'kéy/"1"', String.raw`k\u00e9y/\"1\"`],
  ["by .NET in JSON", "kéy+1'", String.raw`k\u00e9y\u002b1\u0027`],
  ["in base64 for URLs", "key?>~~~~", Buffer.from("key?>~~~~").toString("base64url")],
  ["in base64 without padding", "key?>~~~", Buffer.from("key?>~~~").toString("base64").replaceAll("=", "")],
])("T13: a secret is found as it is written %s", (_, secret, written) => {
  expect(secretForms(secret)).toContain(written);
});

describe("T13: what puts a word in the place of secrets", () => {
  test("finds them in any letter case and form, the longest first", () => {
    const remove = secretRemover(["Canary-4711", "canary", "Kéy/1+1 "], "[x]");
    const escaped = Array.from("Kéy/1+1 ", (one) => `\\u00${one.charCodeAt(0).toString(16).toUpperCase()}`);
    expect(remove(`CANARY-4711 cAnArY ${escaped.join("")}K\\u00E9y/1\\u002B1 `)).toBe("[x] [x] [x][x]");
  });

  test("compares short ones letter by letter, and leaves a text without one as it is", () => {
    const remove = secretRemover(["Ann", ""], "[x]");
    expect(remove("Ann cannot: ANN")).toBe("[x] cannot: ANN");
    expect(remove("[X] cannot")).toBe("[X] cannot");
    expect(secretRemover([], "[x]")("")).toBe("");
  });

  test("changes nothing the second time, even if what it writes is a secret", () => {
    const remove = secretRemover(["secret", "canary-4711"], "[secret]");
    const once = remove("canary-4711 [secret] Secret");
    expect([once, remove(once)]).toEqual(["[secret] [secret] [secret]", "[secret] [secret] [secret]"]);
  });
});

describe("T13: a value that was given in a wrong place is shown in the error, but not if it is a secret", () => {
  const messageOf = (act: () => unknown): string => {
    try {
      act();
    } catch (error) {
      if (error instanceof InvalidValueError) return `${error.message} ${JSON.stringify(error)}`;
    }
    throw new Error("nothing was refused");
  };

  test("a text that looks like one, wherever it is", () => {
    for (const value of [
      "sk-proj-canary0123456789",
      `${"x ".repeat(20)}sk-proj-canary0123456789${"x".repeat(99)}`,
    ])
      expect(messageOf(() => checkInteger("maxTurns", value, 1))).not.toContain("canary");
    expect(messageOf(() => checkInteger("maxTurns", "twenty", 1))).toContain('maxTurns is "twenty"');
  });

  test("a text that looks like one only to its end, which is not shown", () => {
    const value = `postgres://admin:${"canary-".repeat(10)}@db`;
    const shown = messageOf(() => checkInteger("maxTurns", value, 1));
    expect(shown).toContain('maxTurns is "postgres://(not shown)@db"');
    expect(shown).not.toContain("canary");
    const long = messageOf(() => checkInteger("maxTurns", `${value} ${"x".repeat(5_000)}`, 1));
    expect(long).toContain(`maxTurns is "postgres://(not shown)@db ${"x".repeat(51)}..."`);
    const token = `eyJ${"x".repeat(40)}.${"canary".repeat(400)}`;
    expect(messageOf(() => checkInteger("maxTurns", token, 1))).toContain('maxTurns is "(not shown)..."');
  });

  test("any text, under a name that is not known and that secrets have", () => {
    for (const name of [
      "apiKey",
      "api_key",
      "APIKey",
      "API_KEYS",
      "x-api-key",
      "apikey",
      "key2",
      "token",
      "accessTokens",
      "accesstoken",
      "ACCESSTOKEN",
      "authtoken",
      "secretkey",
      "privatekey",
      "accesskeys",
      "clientsecret",
      "passphrase",
      "auth",
      "authorization",
      "password",
      "clientSecret",
      "credentials",
    ])
      expect(messageOf(() => checkFields("agent", { [name]: "canary" }, ["name"]))).toContain(
        `agent.${name} is (not shown); expected no field of that name; known fields: name`,
      );
    expect(messageOf(() => checkFields("agent", { nam: "x" }, ["name"]))).toContain('agent.nam is "x"');
    expect(messageOf(() => checkFields("budget", { maxToken: 5 }, ["maxTokens"]))).toContain("maxToken is 5");
    for (const name of [
      "maxToken",
      "max_tokens",
      "maxOutputTokens",
      "author",
      "keyword",
      "monkey",
      "tokenizer",
    ])
      expect(messageOf(() => checkFields("agent", { [name]: "5" }, ["name"]))).toContain(
        `agent.${name} is "5"`,
      );
  });
});
