import fc from "fast-check";
import { countTokens as countOlder } from "gpt-tokenizer/encoding/cl100k_base";
import { describe, expect, test } from "vitest";
import type { ChatMessage, ModelRequest } from "@ravi/kernel";
import { estimateTokens, FILE_TOKENS, IMAGE_TOKENS } from "@ravi/resources";
import { anyText } from "@ravi/testing/suites";
import { charactersToTokens } from "../src/tokens/parts/characters.ts";
import { RequestCounter } from "../src/tokens/count-request.ts";
import { cacheShortTexts } from "../src/tokens/parts/short-texts.ts";
import { type Encoding, loadEncoding, sliced } from "../src/tokens/tokenizer.ts";
import { complaint } from "./helpers.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const request = (...messages: ChatMessage[]): ModelRequest => ({ messages });
/** One token for each character makes sums easy to read. */
const letters = (text: string): number => text.length;

const encoding = await loadEncoding();
if (encoding === undefined) throw new Error("gpt-tokenizer is installed for these tests");
const count = sliced(encoding);
const whole = (text: string): number => encoding.countTokens(text, { disallowedSpecial: new Set() });

describe("estimateTokens counts all that is sent", () => {
  const counter = new RequestCounter(letters);
  const base = counter.count(request());

  test("messages, names, tool calls and their results", () => {
    expect(counter.count(request({ role: "system", content: "12345" })) - base).toBe(4 + 5);
    expect(counter.count(request({ role: "user", content: "1234", name: "ab" })) - base).toBe(4 + 4 + 1 + 2);
    const call = { id: "c1", name: "find", arguments: '{"a":1}' };
    expect(counter.count(request({ role: "assistant", content: "", toolCalls: [call] })) - base).toBe(
      4 + 8 + 2 + 4 + 7,
    );
    expect(
      counter.count(request({ role: "tool", toolCallId: "c1", name: "find", content: "ok" })) - base,
    ).toBe(4 + 2 + 4 + 2);
  });

  test("a provider's long id of a call as a token for each character, never less than a tokenizer finds", () => {
    const id = "call_9fK2mQx7RtVw3bYz8LpNcJ4d";
    const name = "find";
    const told = { role: "tool", toolCallId: id, name, content: "ok" } as const;
    expect(counter.count(request(told)) - base).toBe(4 + id.length + 4 + 2);
    expect(id.length).toBeGreaterThanOrEqual(whole(id));
  });

  test("tools and the output schema", () => {
    const schema = { type: "object" };
    const size = JSON.stringify(schema).length;
    const tool = { name: "find", description: "finds", parameters: schema };
    expect(counter.count({ messages: [], tools: [tool, tool] }) - base).toBe(2 * (8 + 4 + 5 + size));
    expect(counter.count({ messages: [], output: { name: "out", schema } }) - base).toBe(8 + 3 + size);
  });

  test("images and files, by flat figures and by their bytes", () => {
    const parts = (content: Extract<ChatMessage, { role: "user" }>["content"]): number =>
      counter.count(request({ role: "user", content })) - base - 4;
    expect(parts([{ type: "image", url: `data:image/png;base64,${"A".repeat(100_000)}` }])).toBe(
      IMAGE_TOKENS,
    );
    expect(parts([{ type: "file", url: "https://example.org/a.pdf", mediaType: "application/pdf" }])).toBe(
      FILE_TOKENS,
    );
    const bytes = `data:x;base64,${"A".repeat(400_000)}`;
    expect(parts([{ type: "file", url: bytes, mediaType: "application/pdf" }])).toBe(37_500);
    expect(parts([{ type: "file", url: bytes, mediaType: "text/csv" }])).toBe(100_000);
    expect(parts([{ type: "file", url: bytes, mediaType: "image/png" }])).toBe(IMAGE_TOKENS);
    const same = [
      { url: bytes.replace("data:", "DATA:"), mediaType: "text/csv" },
      { url: bytes, mediaType: "application/x-yaml" },
      { url: bytes.replace("x;", "text/plain;"), mediaType: "application/octet-stream" },
      { url: `data:,${"A".repeat(300_000)}`, mediaType: "text/plain" },
    ];
    for (const file of same) expect(parts([{ type: "file", ...file }])).toBe(100_000);
    expect(parts([{ type: "reasoning", text: "hm", opaque: { provider: "p", data: "A".repeat(40) } }])).toBe(
      12,
    );
    // Also in the result of a tool, from where providers send it on.
    const told = {
      role: "tool",
      toolCallId: "a",
      name: "look",
      content: [{ type: "image", url: "x" }],
    } as const;
    expect(counter.count(request(told)) - base).toBe(4 + 1 + 4 + IMAGE_TOKENS);
    const dearImages = new RequestCounter(letters, 25_000);
    expect(
      dearImages.count(request({ role: "user", content: [{ type: "image", url: "x" }] })),
    ).toBeGreaterThan(25_000);
  });

  test("what a provider has sealed into a tool call goes back to it, and counts", () => {
    const calling = (opaque?: { provider: string; data: string }): number =>
      counter.count(
        request({
          role: "assistant",
          content: "",
          toolCalls: [{ id: "a", name: "find", arguments: "{}", ...(opaque && { opaque }) }],
        }),
      );
    expect(calling({ provider: "p", data: "A".repeat(40) }) - calling()).toBe(10);
  });

  test("a schema with a cycle is refused with the tool's name", () => {
    const cycle: { [key: string]: unknown } = {};
    cycle["self"] = cycle;
    const tools = [{ name: "find", description: "", parameters: cycle }];
    expect(complaint(() => counter.count({ messages: [], tools })).field).toBe("tool find: parameters");
  });

  test("by the real vocabulary, as o200k has it", async () => {
    const text = "The quick brown fox jumps over the lazy dog.";
    expect(await estimateTokens(request(user(text)))).toBe(whole(text) + 7);
    expect(estimateTokens(request(user(text)))).toBe(whole(text) + 7);
  });
});

describe("estimateTokens costs only what is new", () => {
  test("each message is counted once, in whatever list it stands", () => {
    let counted = 0;
    const counter = new RequestCounter((text) => {
      counted++;
      return text.length;
    });
    const messages = Array.from({ length: 100 }, (_, index) => user(`message ${index}`));
    const first = counter.count({ messages });
    expect(counted).toBe(100);
    messages.push(user("new"));
    expect(counter.count({ messages })).toBe(first + 4 + 3);
    expect(counter.count({ messages: [...messages] })).toBe(first + 7);
    expect(counted).toBe(101);
  });

  test("a list that only grew is not walked through again", () => {
    const counter = new RequestCounter(letters);
    const messages = Array.from({ length: 1000 }, (_, index) => user(`message ${index}`));
    counter.count({ messages });
    let reads = 0;
    const watched = new Proxy(messages, {
      get: (target, key, self) => {
        if (typeof key === "string" && /^\d+$/.test(key)) reads++;
        return Reflect.get(target, key, self) as unknown;
      },
    });
    const before = counter.count({ messages: watched });
    reads = 0;
    watched.push(user("x"));
    expect(counter.count({ messages: watched })).toBe(before + 5);
    expect(reads).toBeLessThan(5);
  });

  test("a large message is counted once, also in lists of a few", () => {
    let counted = 0;
    const counter = new RequestCounter((text) => {
      counted++;
      return text.length;
    });
    const large = user("word ".repeat(100));
    for (let n = 0; n < 10; n++) expect(counter.count(request(large))).toBe(3 + 4 + 500);
    expect(counted).toBe(1);
  });

  test("many conversations at once are each counted only in what is new", () => {
    let counted = 0;
    const counter = new RequestCounter((text) => {
      counted++;
      return text.length;
    });
    const text = (list: number, turn: number): string =>
      `turn ${turn} of conversation ${list}, and a few words more`;
    const lists = Array.from({ length: 20 }, (_list, list) =>
      Array.from({ length: 10 }, (_turn, turn) => user(text(list, turn))),
    );
    for (const messages of lists) counter.count({ messages });
    for (let turn = 10; turn < 20; turn++) {
      for (const [list, messages] of lists.entries()) {
        messages.push(user(text(list, turn)));
        expect(counter.count({ messages })).toBe(new RequestCounter(letters).count({ messages }));
      }
    }
    expect(counted).toBe(20 * 20);
  });

  test("a list that was emptied and ends in the same message again is counted anew", () => {
    const counter = new RequestCounter(letters);
    const last = user("last");
    const messages = [user("first"), last];
    const before = counter.count({ messages });
    messages.length = 0;
    expect(counter.count({ messages })).toBe(3);
    messages.push(user("another first"), last);
    expect(counter.count({ messages })).toBe(before + "another first".length - "first".length);
  });

  test("tools are counted as they are now, also when one was replaced in its place", () => {
    const counter = new RequestCounter(letters);
    const tool = (name: string) => ({ name, description: "", parameters: {} });
    const tools = [tool("find"), tool("read")];
    const before = counter.count({ messages: [], tools });
    expect(counter.count({ messages: [], tools: [...tools] })).toBe(before);
    tools[0] = tool("find-all");
    expect(counter.count({ messages: [], tools })).toBe(before + "-all".length);
    expect(counter.count({ messages: [] })).toBe(3);
  });

  test("all counters of a tokenizer share one table of short texts: it takes 64 kB", () => {
    const own = (text: string): number => text.length;
    expect(cacheShortTexts(own)).toBe(cacheShortTexts(own));
    expect(cacheShortTexts((text) => text.length)).not.toBe(cacheShortTexts(own));
  });

  test("short texts are counted once while they are among the latest, and always right", () => {
    let counted = 0;
    const once = cacheShortTexts((text) => {
      counted++;
      return text.length;
    });
    for (let n = 0; n < 10; n++) expect(once("call_1")).toBe(6);
    expect(counted).toBe(1);
    // The ids, arguments and results of a turn with a hundred calls do not push each other out.
    const turn = Array.from({ length: 100 }, (_, n) => [`c${n}`, `{"n":${n}}`, String(n)]).flat();
    for (const text of turn) once(text);
    counted = 0;
    for (const text of turn) expect(once(text)).toBe(text.length);
    expect(counted).toBe(0);
    // More texts than there are places.
    for (let n = 0; n < 10_000; n++) expect(once(`call_${n}`)).toBe(`call_${n}`.length);
    expect(once("a text of more than thirty-two letters")).toBe(38);
    fc.assert(fc.property(anyText(), (text) => once(text) === text.length));
  });

  test("any sequence of appending, cutting and replacing gives the same as counting anew", () => {
    const edits = fc.array(fc.tuple(fc.constantFrom("push", "pop", "clear", "copy"), fc.string()), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(edits, (steps) => {
        const counter = new RequestCounter(letters);
        let messages: ChatMessage[] = [];
        for (const [edit, text] of steps) {
          if (edit === "push") messages.push(user(text));
          else if (edit === "pop") messages.pop();
          else if (edit === "clear") messages.length = 0;
          else messages = [...messages];
          expect(counter.count({ messages })).toBe(new RequestCounter(letters).count({ messages }));
        }
      }),
    );
  });
});

describe("a text is counted word by word", () => {
  const pieces = fc.oneof(
    fc.constantFrom(
      " ",
      "  ",
      "\n",
      "\n\n",
      "\t",
      "\r\n",
      "'",
      "'s",
      "'LL",
      "don't",
      "/",
      "//",
      "(",
      ");",
      '":"',
      "...",
      "\u00a0",
      "\u3000",
    ),
    fc.constantFrom(
      "word",
      "The",
      "camelCase",
      "HTTPServer",
      "naïve",
      "слово",
      "你好",
      "é",
      "e\u0301",
      "١٢٣",
      "🙂",
      "\ud83d",
      "<|endoftext|>",
    ),
    fc.constantFrom("7", "42", "1234567", "1.5", "a1", "1a", "x-y_z"),
    fc.string({ unit: "binary", maxLength: 4 }),
  );
  const texts = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("").slice(0, 120));

  test("the sum is what the vocabulary finds for all of it, the first time and again", () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(count(text)).toBe(whole(text));
        expect(count(text)).toBe(whole(text));
      }),
      { numRuns: 3_000 },
    );
  });

  test("also with more words than it can remember", () => {
    const numbered = (n: number): string => `word${(n * 7_919) % 100_003}x `;
    for (let n = 0; n < 60_000; n += 1_000) {
      const text = Array.from({ length: 1_000 }, (_, at) => numbered(n + at)).join("");
      count(text);
    }
    for (let n = 0; n < 60_000; n += 500) expect(count(numbered(n))).toBe(whole(numbered(n)));
  });

  test("a word that it knows is not looked up again, and a long one is", () => {
    const asked: string[] = [];
    const counting = sliced({
      countTokens: (text) => {
        asked.push(text);
        return 1;
      },
    });
    expect(counting("to be or not to be")).toBe(6);
    expect(asked).toEqual(["to", " be", " or", " not", " to"]);
    asked.length = 0;
    expect(counting(" be, or not")).toBe(4);
    expect(asked).toEqual([","]);
    const id = "x".repeat(65);
    asked.length = 0;
    expect(counting(id) + counting(id)).toBe(2);
    expect(asked).toEqual([id, id]);
  });
});

describe("the tokenizer is never given a text that would hold it up", () => {
  const sizes: number[] = [];
  const spy: Encoding = {
    countTokens: (text) => {
      sizes.push(text.length);
      return text.length;
    },
  };

  test("slices are at most 1,024 characters, and 128 where nothing breaks them", () => {
    for (const text of ["a", " ", "漢", "!", "7"].map((sign) => sign.repeat(10_000))) {
      sizes.length = 0;
      expect(sliced(spy)(text)).toBe(10_000);
      expect(Math.max(...sizes)).toBe(128);
    }
    sizes.length = 0;
    expect(sliced(spy)("some words and more ".repeat(500))).toBe(10_000);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_024);
  });

  test("nothing is lost or counted twice by slicing", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom("a", "bc ", "漢", "🙂", "\n", "=", "12"), fc.nat(400))),
        (parts) => {
          const text = parts
            .map(([sign, times]) => sign.repeat(times))
            .join("")
            .slice(0, 60_000);
          expect(sliced(spy)(text)).toBe(text.length);
        },
      ),
    );
  });

  test("100 kB of one letter, of random letters and of base64 are counted; slicing words changes next to nothing", () => {
    expect(count("a".repeat(100_000))).toBeGreaterThan(10_000);
    const prose = "An agent near its limit is told so, and returns what it has. ".repeat(150);
    expect(count(prose)).toBeGreaterThanOrEqual(whole(prose));
    expect(count(prose)).toBeLessThanOrEqual(whole(prose) * 1.01);
  });

  test("beyond 65,536 characters the rest is counted by characters", () => {
    sizes.length = 0;
    const letter = (n: number): string => String.fromCharCode(97 + (n % 26));
    // No two alike, because one that is known is not looked up again.
    const word = (n: number): string =>
      `${letter(n)}${letter(n / 26)}${letter(n / 676)}${letter(n / 17_576)} `;
    sliced(spy)(Array.from({ length: 100_000 }, (_, n) => word(n)).join(""));
    expect(sizes.reduce((a, b) => a + b, 0)).toBe(65_536);
  });

  test("a text that spells a special token is only text", () => {
    expect(count("<|endoftext|> and <|im_start|>")).toBeGreaterThan(5);
  });

  test("where the tokenizer is not installed, characters are counted", async () => {
    expect(await loadEncoding(() => Promise.reject(new Error("ERR_MODULE_NOT_FOUND")))).toBeUndefined();
  });
});

test("counting by characters errs on the high side for prose, code, JSON, tables, other scripts and random text", () => {
  const random = (alphabet: string, seed: number): string =>
    Array.from({ length: 3000 }, (_, n) => alphabet[(n * n * 31 + n * seed) % alphabet.length]).join("");
  const rows = Array.from({ length: 200 }, (_, n) => (n * n * 31 + n * 17) % 1000);
  const tables = [
    rows.map((n) => n % 10).join(" "),
    rows.map((n) => `${n % 100},${n % 7}`).join("\n"),
    rows.map((n) => (n / 100).toFixed(2)).join(" "),
    JSON.stringify(rows),
    rows.map((n) => `${new Date(n * 1e9).toISOString()} 10.0.${n % 256}.${n % 200} ok`).join("\n"),
    rows.map((n) => `${n % 16}f a${n % 10} `).join(""),
    "6f9619ff-8b86-4011-b42d-00cf4fc964ff\n".repeat(50),
    "x\ny\nz\n".repeat(50),
  ];
  const samples = [
    "An agent near its limit is told so, gets one last turn without tools, and returns a typed partial result.",
    "export function add(to: Amounts, amounts: Amounts): void { to.tokens += amounts.tokens; }",
    JSON.stringify(Array.from({ length: 50 }, (_, id) => ({ id, name: `item ${id}`, price: id / 7 }))),
    "Быстрая коричневая лиса перепрыгивает через ленивую собаку.",
    "敏捷的棕色狐狸跳过了懒狗。这是一个关于预算的句子。",
    "素早い茶色の狐がのろまな犬を飛び越える。",
    "الثعلب البني السريع يقفز فوق الكلب الكسول",
    random("abcdefghijklmnopqrstuvwxyz", 17),
    random("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 7919),
    "0123456789abcdef".repeat(100),
    ...tables,
  ];
  const tooLow = samples.filter((text) => charactersToTokens(text) < whole(text));
  expect(tooLow).toEqual([]);
});

describe("counting by characters, where a script is rare", () => {
  // The first article of human rights, or some words of it.
  const RARE: Readonly<Record<string, string>> = {
    Amharic: "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው። የተፈጥሮ ማስተዋልና ሕሊና ስላለው",
    Tibetan: "འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་ཆེ་མཐོངས་དང༌། ཐོབ་ཐངགི་རང་དབང་འདྲ་མཉམ་དུ་ཡོད་ལ།",
    Khmer: "មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ។",
    Burmese: "လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း၊ မွေးဖွားလာသူများ ဖြစ်သည်။",
    Lao: "ມະນຸດທຸກຄົນເກີດມາມີກຽດສັກສີ, ສິດທິ, ເສລີພາບແລະຄວາມສະເໝີພາບເທົ່າທຽມກັນ.",
    Sinhala: "සියලු මනුෂ්‍යයෝ නිදහස්ව උපත ලබා ඇත. ගරුත්වයෙන් සහ අයිතිවාසිකම්වලින් සමාන වෙති.",
    Telugu: "ప్రతిపత్తిస్వత్వముల విషయమున మానవులెల్లరును జన్మతః స్వతంత్రులును సమానులును నగుదురు.",
    Odia: "ସବୁ ମନୁଷ୍ୟ ଜନ୍ମକାଳରୁ ସ୍ୱାଧୀନ ଏବଂ ମର୍ଯ୍ୟାଦା ଓ ଅଧିକାରରେ ସମାନ।",
    Georgian: "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
    Armenian: "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։",
    Thaana: "ހުރިހާ އިންސާނުން ވެސް އުފަންވަނީ، ދަރަޖަ އާއި ޙައްޤު ތަކުގައި ހަމަހަމަކަމާއިއެކު",
    Hebrew: "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ",
    Syriac: "ܟܠ ܒܪܢܫܐ ܡܬܝܠܕܝܢ ܚܐܪ̈ܐ ܘܫܘ̈ܝܐ",
    Tifinagh: "ⴰⵔ ⴷ ⵜⵍⴰⵍⴰⵏ ⵎⵉⴷⴷⵏ ⴳⴰⵏ ⵉⵍⴻⵍⵍⵉⵢⵏ",
    Cherokee: "ᏂᎦᏓ ᎠᏂᏴᏫ ᏂᎨᎫᏓᎸᎾ ᎠᎴ ᎤᏂᎭ",
    Inuktitut: "ᐃᓅᔪᓕᒫᑦ ᐊᓂᖅᑎᕆᔪᓕᒫᑦ ᐃᓅᓚᐅᕋᒥᒃ",
    Mongolian: "ᠬᠦᠮᠦᠨ ᠪᠦᠷ ᠲᠥᠷᠥᠵᠦ ᠮᠡᠨᠳᠡᠯᠡᠬᠦ",
    Gothic: "𐌰𐌻𐌻𐌰𐌹 𐌼𐌰𐌽𐌽𐌰",
    cuneiform: "𒀭𒂗𒆤𒇽𒈗",
    "rare Chinese": "𠀀𠀁𠀂𠜎𠜱𠝹𠱓㐀㐁㐂㐃㐄㐅㐆㐇",
    phonetics: "ðə kwɪk braʊn fɒks dʒʌmps ˈoʊvə",
    emoji: "👩‍🚀🧑🏽‍💻🏳️‍🌈🎉🔥😀🥳",
    mathematics: "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β = ¬(¬α ∨ β), ∮ ⊕ ⟨ψ|φ⟩ ≢ ∅",
  };

  test.each(Object.entries(RARE))(
    "is not too low for %s, in the newer vocabulary or the older",
    (_, text) => {
      expect(charactersToTokens(text)).toBeGreaterThanOrEqual(whole(text));
      expect(charactersToTokens(text)).toBeGreaterThanOrEqual(countOlder(text));
    },
  );

  test("is no higher than before for what is common", () => {
    const common = {
      "All human beings are born free and equal in dignity and rights.": 23,
      "if (a > 1) { return `→ ${b}`; } // é": 24,
      "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。": 43,
      "すべての人間は、生まれながらにして自由であり、平等である。": 44,
      "모든 인간은 태어날 때부터 자유로우며 동등하다.": 33,
      "Все люди рождаются свободными и равными.": 37,
      "सभी मनुष्यों को समानता प्राप्त है।": 46,
      "يولد جميع الناس أحرارًا متساوين": 29,
    };
    const counted = Object.keys(common).map((text) => [text, charactersToTokens(text)]);
    expect(Object.fromEntries(counted)).toEqual(common);
  });
});
