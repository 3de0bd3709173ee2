import { field, isObject, listOf } from "@ravi/kernel/provider";
import type { RequestBody } from "../wire/protocol.ts";
import type { Rejection, Remedy } from "./corrections.ts";

/** Where a protocol has its schemas in the body. */
export interface SchemaPlaces {
  /** The schema of the answer: its parameter, how to read it, and the body that asks for the same shape in words instead. */
  readonly output: {
    readonly param: string;
    readonly schemaOf: (body: RequestBody) => unknown;
    readonly inWords: (body: RequestBody) => RequestBody;
  };
  /** Reads the description of a tool, and returns the tool with another one. */
  readonly tool: {
    readonly read: (tool: unknown) => unknown;
    readonly write: (tool: unknown, description: object) => unknown;
  };
}

const UNFIT_OUTPUT = /invalid schema for (?:response_format|text\.format)/i;
const UNFIT_TOOL = /invalid schema for function '([^']{1,128})'/i;

/**
 * What to do if the server refuses a schema. Its limits depend on the model, and an answer that is not an object is never accepted.
 * Only the refused schema is affected.
 */
export function schemaRemedy(
  { status, message }: Rejection,
  sent: RequestBody,
  { output, tool }: SchemaPlaces,
): Remedy | undefined {
  if (status !== 400 && status !== 422) return undefined;
  const schema = JSON.stringify(output.schemaOf(sent));
  if (UNFIT_OUTPUT.test(message) && schema !== undefined)
    return {
      param: output.param,
      repeats: true,
      isSingle: true,
      effect: "this schema of the answer is sent as text from now on",
      apply: (body) => (JSON.stringify(output.schemaOf(body)) === schema ? output.inWords(body) : body),
    };
  const name = UNFIT_TOOL.exec(message)?.[1];
  const isRefused = (each: unknown): boolean =>
    field(tool.read(each), "name") === name && field(tool.read(each), "strict") === true;
  if (name === undefined || !listOf(sent["tools"]).some(isRefused)) return undefined;
  const loosened = (each: unknown): unknown => {
    const description = tool.read(each);
    return isRefused(each) && isObject(description)
      ? tool.write(each, { ...description, strict: false })
      : each;
  };
  return {
    param: "tools",
    repeats: true,
    isSingle: true,
    effect: `the tool ${name} is sent without strict mode from now on`,
    apply: (body) => ({ ...body, tools: listOf(body["tools"]).map(loosened) }),
  };
}
