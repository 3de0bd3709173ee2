import type { ModelRequest } from "@ravi/kernel";
import { field, stringOr } from "@ravi/kernel/provider";
import { declareCases } from "./case.ts";
import type { Answer } from "../answers/answer.ts";
import { answerCases } from "./model/answers.ts";
import { callCases } from "./model/calls.ts";
import { cancellationCases } from "./model/cancellation.ts";
import { failureCases } from "./model/failures.ts";
import { historyCases } from "./model/histories.ts";
import { requestCases } from "./model/requests.ts";
import {
  type Asked,
  CANARY,
  type ModelAbility,
  type ModelCase,
  type ModelStage,
  type ModelUnderTest,
  NO_STREAM,
  type OpenedModel,
  type OpenModel,
} from "./model/stage.ts";
import { toolCallCases } from "./model/tool-calls.ts";

/** A model implementation to test. */
export interface ModelSuite {
  /** Opens a new client and a new server that it talks to, which answers from the script. */
  readonly open: OpenModel;
  /** What this client or server cannot do. The cases that need it are left out. */
  readonly without?: readonly ModelAbility[] | undefined;
}

/** All cases of `describeModel`, to run one by one with `assertModelCase`. */
export const modelCases: readonly ModelCase[] = [
  ...answerCases,
  ...toolCallCases,
  ...requestCases,
  ...historyCases,
  ...callCases,
  ...cancellationCases,
  ...failureCases,
];

/** Declares vitest tests for what every provider must do. */
export function describeModel(name: string, suite: ModelSuite): void {
  declareCases(
    `model ${name}`,
    modelCases,
    (needs) => !needs.some((ability) => suite.without?.includes(ability)),
    (each) => assertModelCase(each, suite),
  );
}

/** Runs one case. Rejects if the model does not do what the case says. */
export async function assertModelCase(each: ModelCase, suite: ModelSuite): Promise<void> {
  const opened: ModelUnderTest[] = [];
  const stage: ModelStage = {
    has: (ability) => suite.without?.includes(ability) !== true,
    async open(answers, more = {}) {
      const watched = watch(answers);
      const model = await suite.open({
        script: watched.script,
        apiKey: CANARY,
        idleTimeoutMs: more.idleTimeoutMs,
      });
      opened.push(model);
      return {
        client: model.client,
        asked: watched.asked,
        requests: model.requests ?? (() => watched.asked.length),
        arrived: watched.arrived,
      };
    },
  };
  try {
    await each.run(stage);
  } catch (error) {
    throw withNeeds(error, each);
  } finally {
    for (const model of opened) await model.close?.();
  }
}

/** Says what the case needs: whoever cannot offer that has to know its name. The error stays the same one, for its diff. */
function withNeeds(error: unknown, { needs = [] }: ModelCase): unknown {
  if (!(error instanceof Error) || needs.length === 0 || error.message === NO_STREAM) return error;
  const names = needs.map((need) => JSON.stringify(need)).join(", ");
  const value = `${error.message}\nThis case needs ${names}. If the client, or the server that it is tested with, lacks one, list that in \`without\``;
  // Not assigned: a DOMException, as of an aborted fetch, has only a getter. A frozen error stays as it is.
  Reflect.defineProperty(error, "message", { value });
  return error;
}

interface Watched extends Pick<OpenedModel, "asked" | "arrived"> {
  readonly script: (request: ModelRequest, call: unknown) => Answer;
}

/** A script that records what it was asked. */
function watch(answers: Parameters<ModelStage["open"]>[0]): Watched {
  const asked: Asked[] = [];
  const arrivals: PromiseWithResolvers<Asked>[] = [];
  const arrival = (n: number): PromiseWithResolvers<Asked> =>
    (arrivals[n - 1] ??= Promise.withResolvers<Asked>());
  return {
    asked,
    arrived: (n) => arrival(n).promise,
    script(request, call) {
      const index = asked.length;
      const signal = field(call, "signal");
      const one: Asked = {
        request,
        signal: signal instanceof AbortSignal ? signal : undefined,
        idempotencyKey: stringOr(field(call, "idempotencyKey"), undefined),
      };
      asked.push(one);
      arrival(index + 1).resolve(one);
      const answer = typeof answers === "function" ? answers(request, index) : answers[index];
      if (answer === undefined)
        throw new Error(`request ${index + 1} came, but the case has only ${answers.length} answers`);
      return answer;
    },
  };
}
