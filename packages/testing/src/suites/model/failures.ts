import { inspect } from "node:util";
import { type ErrorKind, errorToJSON, isRaviError, isRetryableKind, type ProviderError } from "@ravi/kernel";
import { expect } from "vitest";
import type { AnswerFault } from "../../answers/answer.ts";
import {
  ask,
  CANARY,
  failureOf,
  type ModelAbility,
  type ModelCase,
  type ModelStage,
  waysOf,
} from "./stage.ts";

type Status = Omit<Extract<AnswerFault, { type: "status" }>, "type">;

const STATUSES: readonly (readonly [Status, ErrorKind])[] = [
  [{ status: 400 }, "FORMAT_ERROR"],
  [{ status: 400, message: "This model's maximum context length is 8192 tokens" }, "CONTEXT_OVERFLOW"],
  [{ status: 401 }, "AUTH"],
  [{ status: 402 }, "BILLING"],
  [{ status: 403 }, "AUTH"],
  [{ status: 404 }, "MODEL_NOT_FOUND"],
  [{ status: 408 }, "TIMEOUT"],
  [{ status: 413 }, "CONTEXT_OVERFLOW"],
  [{ status: 429 }, "RATE_LIMIT"],
  [{ status: 429, message: "You exceeded your current quota" }, "BILLING"],
  [{ status: 500 }, "SERVER_ERROR"],
  [{ status: 502 }, "SERVER_ERROR"],
  [{ status: 503 }, "OVERLOADED"],
  [{ status: 529 }, "OVERLOADED"],
];

export const failureCases: readonly ModelCase[] = [
  ...STATUSES.map(statusCase),
  {
    rule: "O6",
    says: "Retry-After is read from 429 and 503",
    needs: ["status", "retryAfter"],
    async run(stage) {
      for (const status of [429, 503]) {
        for (const way of waysOf(stage)) {
          const { client } = await stage.open([
            { fault: { type: "status", status, headers: { "retry-after": "7" } } },
          ]);
          const error = providerError(await failureOf(way.name, way.call(client, ask("go"))));
          expect(error.retryAfterMs).toBe(7_000);
        }
      }
    },
  },
  faultCase("a connection that drops in the middle", "cut", { type: "cut", afterDeltas: 2 }),
  faultCase(
    "an error that is told in the middle of a stream",
    "errorEvent",
    {
      type: "cut",
      afterDeltas: 2,
      error: new Error("the machine is on fire"),
    },
    ["streaming"],
  ),
  faultCase("an answer that ends politely before its finish", "unfinished", { type: "unfinished" }),
  faultCase("an answer that is no JSON", "malformed", { type: "malformed" }),
  faultCase("an empty body", "malformed", { type: "malformed", body: "" }),
  faultCase("a page of HTML under status 200", "malformed", {
    type: "malformed",
    body: "<html><body>Bad gateway</body></html>",
    contentType: "text/html",
  }),
  ...[undefined, 2].map(silenceCase),
  {
    rule: "T13",
    says: "a key that the server repeats is in no error",
    needs: ["secrets", "status"],
    async run(stage) {
      const faults: readonly (readonly [ModelAbility, AnswerFault])[] = [
        ["status", { type: "status", status: 401, message: `Incorrect API key provided: ${CANARY}` }],
        [
          "status",
          { type: "status", status: 400, message: `{"authorization":"Bearer ${CANARY}"}`, code: CANARY },
        ],
        ["status", { type: "status", status: 500, headers: { "x-request-id": CANARY } }],
        ["malformed", { type: "malformed", body: `{"key":"${CANARY}"` }],
        ["malformed", { type: "malformed", body: `data: {"key":"${CANARY}"\n\n` }],
        ["errorEvent", { type: "cut", afterDeltas: 1, error: new Error(`bad key ${CANARY}`) }],
        ["cut", { type: "cut", afterDeltas: 0 }],
      ];
      for (const [needs, fault] of faults) {
        if (!stage.has(needs)) continue;
        for (const way of waysOf(stage)) {
          const { client } = await stage.open(() => ({ text: "a text of some length", fault }));
          // `providerError` searches for the canary in everything that an error can show.
          providerError(await failureOf(way.name, way.call(client, ask("go"))));
        }
      }
    },
  },
  {
    rule: "T13",
    says: "the conversation is in no error",
    needs: ["status"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client } = await stage.open([{ fault: { type: "status", status: 400 } }]);
        const error = await failureOf(way.name, way.call(client, ask("my password is hunter-2-canary")));
        expect(everythingOf(providerError(error))).not.toContain("hunter-2-canary");
      }
    },
  },
];

/** A broken answer is always a retryable failure, and never a short success. */
function faultCase(
  what: string,
  needs: ModelAbility,
  fault: AnswerFault,
  more: readonly ModelAbility[] = [],
): ModelCase {
  return {
    rule: "T10",
    says: `${what} is a failure, after one request`,
    needs: [needs, ...more],
    async run(stage) {
      for (const way of waysToBreak(stage, fault)) {
        const text = "a text of some length, in several pieces";
        const opened = await stage.open(() => ({ text, fault }));
        const error = providerError(await failureOf(way.name, way.call(opened.client, ask("go"))));
        // Some clients cannot tell what went wrong; UNKNOWN is retryable as well (O6).
        expect(error.kind).toBeOneOf(["SERVER_ERROR", "UNKNOWN"]);
        expect(error.retryable).toBe(true);
        expect(opened.requests()).toBe(1);
      }
    },
  };
}

/**
 * The ways to call a model in which the fault occurs. An error event exists only in a stream: an answer that is not streamed
 * just breaks off.
 */
function waysToBreak(stage: ModelStage, fault: AnswerFault): ReturnType<typeof waysOf> {
  const isEvent = fault.type === "cut" && fault.error !== undefined;
  return waysOf(stage).filter(({ name }) => !isEvent || name === "stream");
}

function providerError(error: unknown): ProviderError {
  if (!isRaviError(error, "PROVIDER_ERROR")) {
    throw new Error(`a failure of the server is a ProviderError, and this is not one: ${String(error)}`, {
      cause: error,
    });
  }
  expect(everythingOf(error)).not.toContain(CANARY);
  expect(error.message.length).toBeLessThan(10_000);
  return error;
}

/** Everything that a log, a journal or a page may show of an error. */
function everythingOf(error: Error): string {
  const shown: string[] = [inspect(error, { depth: Infinity, showHidden: true, maxStringLength: null })];
  for (let at: unknown = error, left = 10; at instanceof Error && left > 0; at = at.cause, left--) {
    shown.push(at.message, at.stack ?? "", JSON.stringify(at), JSON.stringify(errorToJSON(at)));
  }
  return shown.join("\n");
}

function statusCase([status, kind]: readonly [Status, ErrorKind]): ModelCase {
  return {
    rule: "O6",
    says: `status ${status.status}${status.message === undefined ? "" : ` "${status.message}"`} is ${kind}, after one request`,
    needs: ["status"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const opened = await stage.open(() => ({ fault: { type: "status", ...status } }));
        const error = providerError(await failureOf(way.name, way.call(opened.client, ask("go"))));
        expect([error.kind, error.status]).toEqual([kind, status.status]);
        expect(error.retryable).toBe(isRetryableKind(kind));
        expect(opened.requests()).toBe(1);
      }
    },
  };
}

function silenceCase(afterDeltas: number | undefined): ModelCase {
  return {
    rule: "T10",
    says: `a server that falls silent ${afterDeltas === undefined ? "before its headers" : "in the middle"} is a time-out`,
    needs: ["hang", "idleTimeout"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const text = "a text of some length, in several pieces";
        const opened = await stage.open(
          () => ({ text, fault: { type: "hang", ...(afterDeltas === undefined ? {} : { afterDeltas }) } }),
          { idleTimeoutMs: 60 },
        );
        const error = providerError(await failureOf(way.name, way.call(opened.client, ask("go"))));
        expect([error.kind, error.retryable]).toEqual(["TIMEOUT", true]);
        expect(opened.requests()).toBeLessThanOrEqual(1);
      }
    },
  };
}
