import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readChoice } from "../src/parse/choice.ts";
import { findJson, findObject } from "../src/parse/json.ts";
import { readList, readSequence } from "../src/parse/list.ts";
import { fillIn, placeholdersIn, readRewooPlan } from "../src/parse/rewoo-plan.ts";
import { readConfidence, readScore } from "../src/parse/score.ts";
import { readText, readVerdict } from "../src/parse/verdict.ts";
import { answerIn } from "../src/strategies/agreement.ts";
import { solutionIn } from "../src/strategies/blackboard.ts";
import { levelsOf } from "../src/strategies/levels.ts";
import { readHandoff } from "../src/strategies/handoff.ts";

const RUNS = process.env["RAVI_LONG"] ? 5_000 : 300;

describe("J10: what models really write when they are asked for JSON", () => {
  test.each([
    ['{"a": 1}', { a: 1 }],
    ['Sure! Here it is:\n```json\n{"a": [1, 2]}\n```\nAnything else?', { a: [1, 2] }],
    ['{"a": 1,}', { a: 1 }],
    ['{"ok": True, "why": None}', { ok: true, why: null }],
    ['[not json] but {"a": "}"}', { a: "}" }],
    ["{broken", undefined],
    ["no json at all", undefined],
  ])("%s", (text, expected) => {
    expect(findJson(text)).toEqual(expected);
  });

  test("an object is found behind a remark in brackets", () => {
    expect(findObject('As [1] says: {"score": 0.2}')).toEqual({ score: 0.2 });
    expect(findObject('[1, 2] [{"a": 1}] {"b": 2}')).toEqual({ a: 1 });
    expect(readScore('By the rule in [1]: {"score": 0.2, "feedback": "9/10 for style"}')).toBe(0.2);
  });

  test("a text full of brackets is not searched without end", () => {
    expect(findJson("{".repeat(100_000))).toBeUndefined();
    expect(findJson("[{".repeat(50_000))).toBeUndefined();
  });
});

describe("J10: scores", () => {
  test.each([
    ['{"score": 0.8}', 0.8],
    ['{"Score": "0.8", "feedback": "10/10 for effort"}', 0.8],
    ['{"rating": 8}', 0.8],
    ['{"score": 85}', 0.85],
    ['{"score": 10}', 1],
    ['{"score": 11}', 0.11],
    ["I would say 8/10, all in all.", 0.8],
    ["eight out of ten", 0.8],
    ["Score: 4/5", 0.8],
    ["5 of 10 criteria are met. Overall score: 0.9", 0.9],
    ["Rating: 90 per cent", 0.9],
    ["85%", 0.85],
    ["Score: 0,7", 0.7],
    ["**Score**: 0.7 (good)", 0.7],
    ["0.95", 0.95],
    ['{"score": -3}', 0],
    ['{"score": "12/10"}', 1],
    ['{"score": 1e9}', undefined],
    ['{"score": "high"}', undefined],
    ['{"score": null}', undefined],
    ['{"score": {"value": 1}}', undefined],
    ["Splendid work in 2024!", undefined],
    ["", undefined],
    // One that cannot be read might be the lowest.
    ["Score: 9/10. Score: 250.", undefined],
    // What would pass for a perfect score by mistake.
    ["The quality is poor; one mistake after another.", undefined],
    ["Quality: one major flaw", undefined],
    ['{"score":NaN,"flaws":1}', undefined],
    ['{"score": Infinity}', undefined],
    ["This is 100% wrong.", undefined],
    ["I am 95% sure that it is wrong.", undefined],
    ["9 of 10 claims are false.", undefined],
    ["Wrong since 9/10/2024.", undefined],
    ["Score (1-10): 3", 0.3],
    ["Score (1-10): 1", 0.1],
    ["Score (out of 10): 2", 0.2],
    ["Style: 9/10. Truth: 2/10.", 0.2],
    ["Style score: 9/10, overall score: 4/10", 0.4],
    ["Score: -0.5", 0],
    ['{"score": "0.7 (good)"}', 0.7],
    ['{"score": "seven"}', 0.7],
    ['{"evaluation": {"score": 0.9}}', 0.9],
    ["a score of 0.8 because it is short", 0.8],
  ])("%s → %s", (text, expected) => {
    expect(readScore(text)).toBe(expected);
  });
});

describe("J10: how sure a choice is", () => {
  test.each([
    ['{"route": "a", "confidence": 0.9}', 0.9],
    ['{"route": "a"}', undefined],
    ["a", undefined],
    ['{"route": "a", "confidence": "low"}', 0],
    ['{"route": "a", "confidence": 1e9}', 0],
    ["I am 30% sure that it is a", 0.3],
  ])("%s → %s", (text, expected) => {
    expect(readConfidence(text, ["confidence"])).toBe(expected);
  });
});

describe("J10: choices", () => {
  test("names that differ by marks or case alone are not mixed up, and silence chooses nobody", () => {
    expect(readChoice("C++", ["c", "c++"])).toBe("c++");
    expect(readChoice('{"route": "c#"}', ["c", "c#", "c++"])).toBe("c#");
    expect(readChoice("bob", ["Bob", "bob"])).toBe("bob");
    expect(readChoice("a_b", ["a b", "a-b"])).toBeUndefined();
    expect(readChoice("", ["🙂", "x"])).toBeUndefined();
    expect(readChoice('{"route": ""}', ["🙂", "x"])).toBeUndefined();
  });

  const options = ["billing", "tech support", "data", "data-analyst"];
  test.each([
    ['{"route": "billing"}', "billing"],
    ['{"next_agent": "Tech Support"}', "tech support"],
    ["billing", "billing"],
    ["  **Billing**. ", "billing"],
    ["Route: billing\nbecause tech support is closed", "billing"],
    ["I would ask the data-analyst.", "data-analyst"],
    ["Either billing or tech support.", undefined],
    ['{"route": "sales"}', undefined],
    ['{"route": ["billing"]}', "billing"],
    ["nobody", undefined],
    // Who is named is not always chosen.
    ["This is not for billing.", undefined],
    ["It isn't billing", undefined],
    ['{"route": "not billing"}', undefined],
    ["Route: anyone rather than billing", undefined],
    ["Billing? No, not billing.", undefined],
    ["Not billing, but tech support.", "tech support"],
    ["This does not look technical, so billing.", "billing"],
    ["Not a data question: billing", "billing"],
  ])("%s → %s", (text, expected) => {
    expect(readChoice(text, options)).toBe(expected);
  });
});

describe("J10: lists, verdicts and texts", () => {
  test.each([
    ['["a", "b"]', ["a", "b"]],
    ['{"steps": [{"step": 1, "description": "a"}, {"task": "b"}]}', ["a", "b"]],
    ['[{"step": "1", "task": "a"}, {"step": "Step 2", "action": "b"}]', ["a", "b"]],
    ['[{"step": 1}, {"step": 2}]', ["1", "2"]],
    ['{"plan": {"steps": ["a", "b"]}}', ["a", "b"]],
    ['[{"instruction": "a"}, {"goal": "b"}]', ["a", "b"]],
    ["**Step 1:** a\n**2.** b\n**3. c**\n4. **d**: e", ["a", "b", "c", "**d**: e"]],
    ["**1. Compute 2**10**\n**2.** Compute 3**2", ["Compute 2**10", "Compute 3**2"]],
    ["**1. Look**: at it\n**2. Read** 2 ** 3 pages.", ["Look: at it", "Read 2 ** 3 pages."]],
    ["**1. Read 2 ** (3) pages**\n2. b", ["Read 2 ** (3) pages", "b"]],
    ["**Remark** on the plan\n1. a\n2. b", ["a", "b"]],
    // What is indented below an item belongs to it.
    ["1. a\n   - a1\n   - a2\n\n   in short\n2. b", ["a\n- a1\n- a2\nin short", "b"]],
    ["1. a\n\t- sub\n2. b", ["a\n- sub", "b"]],
    [" 9. a\n10. b", ["a", "b"]],
    // A single item above a list is its headline.
    ["- Plan:\n  1. look\n  2. read\n  3. write", ["look", "read", "write"]],
    ["Here it is.\n* Steps\n    * look\n      twice\n\n    * read\nGood luck!", ["look\ntwice", "read"]],
    ["- Plan:\n\t1. look\n\t2. read", ["look", "read"]],
    ["1. a\n   in short", ["a\nin short"]],
    ['- The plan:\n[\n  "a",\n  "b"\n]', ["a", "b"]],
    ['{"plan": ["a", "", "a", 3, null, {"x": 1}]}', ["a", "3"]],
    ["1. a\n2) b\n- c\n* d\nStep 5: e", ["a", "b", "c", "d", "e"]],
    ["just prose", []],
    ["see [1] and [2, 3]", []],
    [
      "1. Look at item [0] of the list\n2. Compare it\n3. Report",
      ["Look at item [0] of the list", "Compare it", "Report"],
    ],
    ['1. Set the tags to ["x", "y"]\n2. Report', ['Set the tags to ["x", "y"]', "Report"]],
    ['Here is the plan (see [1]): ["a","b"]', ["a", "b"]],
    ['Of ["x"] this: ["a","b"]', ["a", "b"]],
    ['Not ["x", "y", "z"] but {"steps": ["a", "b"]}', ["a", "b"]],
    ['The field ["name"] is what counts.\n1. a\n2. b', ["a", "b"]],
    ["Of [1]:\n- [ ] a\n- [x] b", ["[ ] a", "[x] b"]],
    ['- First I look around.\n- Then I plan.\n["a", "b"]', ["a", "b"]],
    ['- ["a", "b"]', ["a", "b"]],
    ['- [\n  "a",\n  "b"\n]', ["a", "b"]],
    ["[\n  1\n]\n1. a", ["a"]],
  ])("%s → %j", (text, expected) => {
    expect(readList(text)).toEqual(expected);
  });

  test("in a sequence the same may come twice", () => {
    const turns = ["turn left", "go straight", "turn left"];
    expect(readSequence(JSON.stringify(turns))).toEqual(turns);
    expect(readSequence(turns.map((turn) => `- ${turn}`).join("\n"))).toEqual(turns);
    expect(readList(JSON.stringify(turns))).toEqual(["turn left", "go straight"]);
  });

  test.each([
    ['{"done": true}', true],
    ['{"done": "Yes"}', true],
    ["YES.", true],
    ['{"done": false}', false],
    ['{"done": {"is": true}}', false],
    ['{"done": ["yes"]}', false],
    ['{"finished": true}', false],
    ["I am not done", false],
    // What begins like a yes.
    ["Complete\nrewrite needed", false],
    ["Done?", false],
    ["не done", false],
    ["Yes\n", true],
    ["", false],
  ])("%s is a yes: %s", (text, expected) => {
    expect(readVerdict(text, ["done"])).toBe(expected);
  });

  test("a text field, or the whole text where there is none", () => {
    expect(readText('{"feedback": "shorter"}', ["feedback"])).toBe("shorter");
    expect(readText("make it shorter", ["feedback"])).toBe("make it shorter");
  });
});

describe("J10: ReWOO plans", () => {
  test("steps of the same name: the first counts; ids are made where there are none", () => {
    expect(
      readRewooPlan(
        '[{"tool": "a"}, {"id": "#E1", "tool": "b"}, {"id": 7, "action": "c", "args": {"q": "#E1"}}, 5]',
      ),
    ).toEqual([
      { id: "E1", tool: "a", input: {} },
      { id: "E7", tool: "c", input: { q: "#E1" } },
    ]);
  });

  const search = (input: unknown, id = "E1", tool = "search") => ({ id, tool, input });
  test.each<[string, unknown[]]>([
    ['{"plan": {"steps": [{"id": "E1", "tool": "search", "input": "Oslo"}]}}', [search("Oslo")]],
    ['{"steps": [{"tool": "search", "tool_input": {"q": "x"}}]}', [search({ q: "x" })]],
    ['{"steps": [{"action": "search", "action_input": "x"}]}', [search("x")]],
    ['#E1 = search["weather in Oslo"]', [search("weather in Oslo")]],
    ["#E1 = search[2024]", [search("2024")]],
    ['#E1 = search[{"q":"x"}]', [search({ q: "x" })]],
    ['#E1 = search[{"name":"x"}]', [search({ name: "x" })]],
    [
      "Plan: find it [1].\n#E1 = search[weather in Oslo]\n#E2 = LLM[what of #E1]",
      [search("weather in Oslo"), search("what of #E1", "E2", "LLM")],
    ],
    ["Plan: find it [1]. #E1 = search[Oslo]", [search("Oslo")]],
    ['As in [1]:\n{"steps": [{"tool": "search", "input": "#E1 = x[y]"}]}', [search("#E1 = x[y]")]],
    ['Plan: ["#E1 = search[Oslo]", "#E2 = search[Bern]"]', [search("Oslo"), search("Bern", "E2")]],
    ['[\n  "#E1 = search[Oslo]",\n  "#E2 = search[Bern]"\n]', [search("Oslo"), search("Bern", "E2")]],
    ['With #E1 = search[x] in mind:\n[{"tool": "search", "input": "Oslo"}]', [search("Oslo")]],
    ["see [1]", []],
  ])("%s → %j", (text, expected) => {
    expect(readRewooPlan(text)).toEqual(expected);
  });

  test("#E1 is not part of #E10", () => {
    const evidence = new Map([
      ["E1", "one"],
      ["E10", "ten"],
    ]);
    expect(fillIn({ q: ["#E10 #E1 #E2"] }, evidence)).toEqual({ q: ["ten one #E2"] });
    expect(placeholdersIn({ q: "#E10 and #e1" })).toEqual(["E10", "E1"]);
  });
});

test("a model that repeats itself without end is read all the same", () => {
  for (const piece of [
    "1",
    "\n",
    " ",
    "[",
    "{",
    "]",
    ":",
    "#E1=a[",
    "answer:",
    "score",
    "a,",
    "- ",
    "hand",
    "*",
  ]) {
    const text = piece.repeat(100_000 / piece.length);
    expect(readScore(text) ?? 0).toBeLessThanOrEqual(1);
    expect(readChoice(text, ["billing"])).toBeUndefined();
    expect(readHandoff(text)).toBeUndefined();
    expect(readRewooPlan(text)).toEqual([]);
    expect(readVerdict(text, ["done"])).toBe(false);
    expect(answerIn(text).length).toBeLessThanOrEqual(text.length);
    expect(solutionIn(text)).toBeUndefined();
    expect(readList(text).length).toBeLessThanOrEqual(text.length);
  }
});

test.each([
  ["marks, and then a word", (many: string) => readChoice(`${many}x`, ["billing"]), "."],
  ["a hand-off, blanks, and then a word", (many: string) => readHandoff(`handoff bob${many}x`, ["bob"]), " "],
  [
    "a hand-off to a stranger, in two lines of an old kind",
    (many: string) => readHandoff(`handoff: x${many}x\rb`),
    " ",
  ],
  ["line ends of an old kind", (many: string) => solutionIn(many), "\r"],
])("a reader is done with 200,000 characters at once: %s", (_what, read, piece) => {
  expect(read(piece.repeat(200_000))).toBeUndefined();
});

test.each(["", "\u2028)"])(
  "a plan of 1,500 long lines, in each of which 1,600 steps begin and none ends, is read at once (%j)",
  (end) => {
    const line = `${"#E1=a(".repeat(1_600)}${end}x`;
    expect(readRewooPlan(Array.from({ length: 1_500 }, () => line).join("\n"))).toEqual([]);
  },
);

test("the input of a step may have another line's end inside", () => {
  expect(readRewooPlan("#E1 = search[one\u2028two]")).toEqual([
    { id: "E1", tool: "search", input: "one\u2028two" },
  ]);
});

test("a line that ends as on Windows, or has another line's end inside, is read like any other, however long", () => {
  const many = ":".repeat(200_000);
  expect(answerIn(`because\r\nAnswer: 42\r\n\r\nI hope it helps`)).toBe("42");
  expect(answerIn(`answer${many}a\rb`)).toBe("a\rb");
  expect(readList("1. left\r\n2. right\r\n")).toEqual(["left", "right"]);
  expect(readList(`1.${" ".repeat(200_000)}a\rb`)).toEqual(["a\rb"]);
});

test("only the topmost of many lists inside of each other counts as a headline", () => {
  const stairs = Array.from({ length: 600 }, (_, depth) => `${"\t".repeat(depth)}- a${depth}`);
  expect(readList(stairs.join("\n"))).toEqual([`a1\n${stairs.slice(2).join("\n").replaceAll("\t", "")}`]);
});

test("a score that is said 200,000 times is a score", () => {
  expect(readScore("score: 5\n".repeat(200_000))).toBe(0.5);
});

test("J10: no text, however strange, makes a reader throw, and every score is between 0 and 1", () => {
  const pieces = fc.constantFrom(
    "{",
    "}",
    "[",
    "]",
    '"',
    ":",
    ",",
    "score",
    "0.5",
    "8/10",
    "-1",
    "E1",
    "#E1",
    "=",
    "\n",
    "HANDOFF ",
    "1. ",
    "\\",
    "null",
    "é",
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(pieces).map((parts) => parts.join("")),
    fc.json(),
  );
  fc.assert(
    fc.property(texts, fc.array(fc.string({ minLength: 1 }), { maxLength: 4 }), (text, options) => {
      const score = readScore(text);
      expect(score === undefined || (score >= 0 && score <= 1)).toBe(true);
      const choice = readChoice(text, options);
      expect(choice === undefined || options.includes(choice)).toBe(true);
      readVerdict(text, ["done"]);
      readHandoff(text);
      expect(readList(text).every((item) => item.trim() !== "")).toBe(true);
      const steps = readRewooPlan(text);
      const { levels, stuck } = levelsOf(steps);
      expect(levels.flat().length + stuck.size).toBe(steps.length);
    }),
    { numRuns: RUNS },
  );
});
