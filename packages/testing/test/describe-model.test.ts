import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type LLMClient, type ModelResponse, ProviderError } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { record, scriptedModel } from "../src/index.ts";
import {
  assertModelCase,
  describeModel,
  type ModelAbility,
  modelCases,
  type ModelSuite,
} from "../src/suites/index.ts";
import { temporaryFile } from "./helpers.ts";
import { clientOf } from "./planted/honest-client.ts";
import { PLANTED } from "./planted/planted-bugs.ts";

/** A scripted model has no wire: nothing to time out, to close, to carry a key, or to translate for. */
const NO_WIRE = [
  "errorEvent",
  "translates",
  "unfinished",
  "idleTimeout",
  "seesClose",
  "idempotencyKey",
  "secrets",
] as const satisfies readonly ModelAbility[];

describeModel("scriptedModel", {
  open: ({ script }) => ({ client: scriptedModel(script) }),
  without: NO_WIRE,
});

describeModel("of an honest client", { open: (setup) => ({ client: clientOf(setup) }) });

describeModel("of an honest client that is recorded", {
  open: (setup) => ({ client: record(clientOf(setup), temporaryFile("run.jsonl")) }),
});

const openWithoutStream: ModelSuite["open"] = (setup) => {
  const { id, info, generate } = clientOf(setup);
  return { client: { id, info, generate } };
};
describeModel("of an honest client that cannot stream", { open: openWithoutStream, without: ["streaming"] });

/** As for a protocol in which calls have no ids: the client makes up new ones in every answer. */
const openWithoutIds: ModelSuite["open"] = (setup) => {
  const honest = clientOf(setup);
  const renamed = ({ message, ...response }: ModelResponse, ids: string[]): ModelResponse => {
    const toolCalls = message.toolCalls?.map((call, at) => ({ ...call, id: (ids[at] ??= randomUUID()) }));
    return { ...response, message: toolCalls === undefined ? message : { ...message, toolCalls } };
  };
  const client: LLMClient = {
    ...honest,
    generate: async (...call) => renamed(await honest.generate(...call), []),
    async *stream(...call) {
      const ids: string[] = [];
      for await (const event of honest.stream?.(...call) ?? []) {
        if (event.type === "finish") yield { type: "finish", response: renamed(event.response, ids) };
        else if (event.type === "toolCall" && event.id !== undefined)
          yield { ...event, id: (ids[event.index] ??= randomUUID()) };
        else yield event;
      }
    },
  };
  return { client };
};
describeModel("of an honest client that makes up the ids of calls", {
  open: openWithoutIds,
  without: ["callIds"],
});

describe("the suite", () => {
  test("tells whoever has no stream what to say, in every case that needs one", async () => {
    const who = modelCases.filter(({ says }) => /says who it is|deltas of the text/.test(says));
    expect(who).toHaveLength(2);
    for (const each of who)
      await expect(assertModelCase(each, { open: openWithoutStream })).rejects.toThrow(
        'without: ["streaming"]',
      );
  });

  test("tells that of an error too whose message cannot be set, such as that of an aborted fetch", async () => {
    const cached = modelCases.find(({ says }) => says.includes("cached input"));
    assert(cached !== undefined);
    const told: string[] = [];
    for (const error of [new DOMException("aborted", "AbortError"), Object.freeze(new Error("frozen"))]) {
      const generate = (): Promise<never> => Promise.reject(error);
      const open: ModelSuite["open"] = (setup) => ({ client: { ...clientOf(setup), generate } });
      told.push(await assertModelCase(cached, { open }).then(String, String));
    }
    expect(told).toEqual([
      expect.stringMatching(/^AbortError: aborted\nThis case needs "cachedUsage"/),
      "Error: frozen",
    ]);
  });

  test("tells what a case needs that fails, and how to leave it out", async () => {
    const cached = modelCases.find(({ says }) => says.includes("cached input"));
    assert(cached !== undefined);
    const open: ModelSuite["open"] = (setup) => {
      const honest = clientOf(setup);
      return {
        client: {
          ...honest,
          generate: async (...call) => {
            const { usage: _, ...response } = await honest.generate(...call);
            return response;
          },
        },
      };
    };
    const failure = assertModelCase(cached, { open });
    await expect(failure).rejects.toThrow("inputTokens: 120");
    await expect(failure).rejects.toThrow(
      'This case needs "cachedUsage". If the client, or the server that it is tested with, lacks one, list that in `without`',
    );
  });

  test("of a failure of the wrong kind tells which kind it was, and which are right", async () => {
    const unfinished = modelCases.find(({ says }) => says.includes("before its finish"));
    assert(unfinished !== undefined);
    const generate = (): Promise<never> =>
      Promise.reject(new ProviderError({ kind: "FORMAT_ERROR", message: "no finish" }));
    const open: ModelSuite["open"] = (setup) => ({ client: { ...clientOf(setup), generate } });
    await expect(assertModelCase(unfinished, { open })).rejects.toThrow(
      /to be one of[^]*SERVER_ERROR[^]*FORMAT_ERROR/,
    );
  });

  test("of a case that everybody must pass says nothing about leaving it out", async () => {
    const plain = modelCases.find(({ says }) => says === "says who it is");
    assert(plain !== undefined);
    const open: ModelSuite["open"] = (setup) => ({ client: { ...clientOf(setup), id: "" } });
    await expect(assertModelCase(plain, { open })).rejects.not.toThrow("This case needs");
  });

  for (const { says, caughtBy, plant } of PLANTED) {
    test(`catches a client that ${says}`, async () => {
      const found = modelCases.filter((each) => each.says.includes(caughtBy));
      expect(found.map((each) => each.says)).not.toEqual([]);
      for (const each of found) {
        const suite = { open: (setup: Parameters<typeof clientOf>[0]) => ({ client: plant(setup) }) };
        await expect(assertModelCase(each, suite)).rejects.toThrow(Error);
      }
    });
  }
});

test("every case has a name of its own, and says which rule it belongs to", () => {
  const names = modelCases.map(({ rule, says }) => `${rule}: ${says}`);
  expect(new Set(names).size).toBe(names.length);
  expect(modelCases.filter(({ rule }) => !/^[A-Z]\d+$/.test(rule))).toEqual([]);
});
