import { fieldsOf, isObject, listOf, textIn } from "@ravi/kernel/provider";
import type { RequestBody } from "../wire/protocol.ts";
import type { Rejection, Remedy } from "./corrections.ts";

/** How Google, and gateways to it, refuse keywords of JSON Schema: by name, each in a sentence of its own. */
const UNKNOWN =
  /unknown name \\?"([$\w]{1,40})\\?" at '(?:request\.)?(?:tools|generation_config\.response_)/gi;
/** llama.cpp makes a grammar of the schemas, and says no more than this if one is too large or has a pattern that it cannot read. */
const GRAMMAR = /failed to parse grammar/i;
const IN_GRAMMAR = ["pattern", "format", "minLength", "maxLength", "minItems", "maxItems"];

/** By name, whose values are schemas. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
]);
/** No schemas but examples of what is described. */
const VALUES: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);

/**
 * What to do if the server does not know a keyword in the schemas of tools or of the answer: it is told in words. What a model writes is checked
 * against the own schema of the tool or of the answer anyway.
 */
export function keywordRemedy({ status, message }: Rejection, sent: RequestBody): Remedy | undefined {
  if (status !== 400) return undefined;
  const names = new Set(GRAMMAR.test(message) ? IN_GRAMMAR : []);
  for (const [, name = ""] of message.matchAll(UNKNOWN)) names.add(name);
  const apply = (body: RequestBody): RequestBody => inWords(body, names);
  if (names.size === 0 || JSON.stringify(apply(sent)) === JSON.stringify(sent)) return undefined;
  return {
    param: sent["tools"] === undefined ? "response_format" : "tools",
    repeats: true,
    effect: `${[...names].join(", ")} of their schemas is told in words from now on`,
    apply,
  };
}

function inWords(body: RequestBody, names: ReadonlySet<string>): RequestBody {
  const { tools, response_format: format } = body;
  const shape = fieldsOf(fieldsOf(format)["json_schema"]);
  return {
    ...body,
    ...(tools !== undefined && {
      tools: listOf(tools).map((tool) => {
        const described = fieldsOf(fieldsOf(tool)["function"]);
        return isObject(tool) && isObject(described["parameters"])
          ? { ...tool, function: { ...described, parameters: without(described["parameters"], names) } }
          : tool;
      }),
    }),
    ...(shape["schema"] !== undefined && {
      response_format: {
        ...fieldsOf(format),
        json_schema: { ...shape, schema: without(shape["schema"], names) },
      },
    }),
  };
}

/** The schema without these keywords. */
function without(schema: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(schema)) return schema.map((each) => without(each, names));
  if (!isObject(schema)) return schema;
  const result: Record<string, unknown> = {};
  const words: string[] = [];
  for (const [key, inner] of Object.entries(schema)) {
    if (!names.has(key)) result[key] = VALUES.has(key) ? inner : below(key, inner, names);
    else if (key === "const") result["enum"] = [inner];
    else if (isBound(key, inner)) words.push(`${key}: ${inner}`);
  }
  if (words.length > 0 && !names.has("description")) {
    const said = textIn(result["description"]);
    result["description"] = `${said === undefined ? "" : `${said} `}(${words.join(", ")})`;
  }
  return result;
}

/** Not what a schema is called, or which draft it follows. */
function isBound(key: string, value: unknown): value is string | number {
  return !key.startsWith("$") && (typeof value === "string" || typeof value === "number");
}

function below(key: string, inner: unknown, names: ReadonlySet<string>): unknown {
  if (!NAMED.has(key) || !isObject(inner)) return without(inner, names);
  return Object.fromEntries(Object.entries(inner).map(([name, schema]) => [name, without(schema, names)]));
}
