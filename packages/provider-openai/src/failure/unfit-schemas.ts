import { field, isObject, listOf } from "@ravi/kernel/provider";
import type { RequestBody } from "../protocol.ts";
import type { Rejection, Remedy } from "./corrections.ts";

/** Where a protocol has its schemas. */
export interface SchemaPlaces {
  /** The shape of the answer: its parameter, its schema, and the body that asks for it in words. */
  readonly output: {
    readonly param: string;
    readonly schemaOf: (body: RequestBody) => unknown;
    readonly inWords: (body: RequestBody) => RequestBody;
  };
  /** What a tool is described by, and the tool with another description. */
  readonly tool: {
    readonly read: (tool: unknown) => unknown;
    readonly write: (tool: unknown, description: object) => unknown;
  };
}

const UNFIT_OUTPUT = /invalid schema for (?:response_format|text\.format)/i;
const UNFIT_TOOL = /invalid schema for function '([^']{1,128})'/i;

/**
 * What to do about a schema that the server cannot hold a model to: it has limits that change with the model, and an answer that
 * is no object is beyond them. Only the schema that was refused is given up.
 */
export function unfitSchema(
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
      effect: "the model is asked for this shape of its answer in words",
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
    effect: `the schema of ${name} is not strict from now on`,
    apply: (body) => ({ ...body, tools: listOf(body["tools"]).map(loosened) }),
  };
}
