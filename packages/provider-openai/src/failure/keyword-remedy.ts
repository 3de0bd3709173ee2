import { type Fields, isObject, listOf, textIn } from "@ravi/kernel/provider";
import { type SchemaChange, withSchemas } from "../request/schema-walk.ts";
import type { RequestBody } from "../wire/protocol.ts";
import type { Rejection, Remedy } from "./corrections.ts";

/** How Google, and gateways to it, refuse keywords of JSON Schema: by name, each in a sentence of its own. */
const UNKNOWN =
  /unknown name \\?"([$\w]{1,40})\\?" at '(?:request\.)?(?:tools|generation_config\.response_)/gi;
/** llama.cpp makes a grammar of the schemas, and says no more than this if one is too large or has a pattern that it cannot read. */
const GRAMMAR = /failed to parse grammar/i;
const IN_GRAMMAR = ["pattern", "format", "minLength", "maxLength", "minItems", "maxItems"];
/** Moonshot has a JSON Schema of its own, in which each schema says its type, and says nothing beside a reference. */
const MOONSHOT = /moonshot flavored json schema/i;

/**
 * What to do if the server does not know a keyword in the schemas of tools or of the answer: it is told in words. What a model writes is checked
 * against the own schema of the tool or of the answer anyway.
 */
export function keywordRemedy({ status, message }: Rejection, sent: RequestBody): Remedy | undefined {
  if (status !== 400) return undefined;
  const names = new Set(GRAMMAR.test(message) ? IN_GRAMMAR : []);
  for (const [, name = ""] of message.matchAll(UNKNOWN)) names.add(name);
  const change: SchemaChange | undefined = MOONSHOT.test(message)
    ? typed
    : names.size === 0
      ? undefined
      : (schema) => without(schema, names);
  if (change === undefined || JSON.stringify(withSchemas(sent, change)) === JSON.stringify(sent))
    return undefined;
  const what = change === typed ? "what their schemas leave open is written out" : "is told in words";
  return {
    param: sent["tools"] === undefined ? "response_format" : "tools",
    repeats: true,
    effect: `${change === typed ? "" : `${[...names].join(", ")} of their schemas `}${what} from now on`,
    apply: (body) => withSchemas(body, change),
  };
}

/** The schema without these keywords. */
function without(schema: Fields, names: ReadonlySet<string>): Fields {
  const result: Record<string, unknown> = {};
  const words: string[] = [];
  for (const [key, inner] of Object.entries(schema)) {
    if (!names.has(key)) result[key] = inner;
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

/** An array would need a type for its items. */
const ANY = ["string", "number", "boolean", "object", "null"].map((type) => ({ type }));

function typed(schema: Fields): Fields {
  const { $ref, type, anyOf, ...rest } = schema;
  if ($ref !== undefined) return { $ref };
  if (anyOf !== undefined && type !== undefined)
    return {
      ...rest,
      anyOf: listOf(anyOf).map((each) => (isObject(each) && !hasType(each) ? { type, ...each } : each)),
    };
  if (hasType(schema)) return schema;
  const [kind, ...others] = new Set(listOf(schema["enum"] ?? [schema["const"]]).map((value) => typeof value));
  const isPlain = kind === "string" || kind === "number" || kind === "boolean";
  return isPlain && others.length === 0 ? { type: kind, ...schema } : { ...schema, anyOf: ANY };
}

/** Or says elsewhere what it is. */
function hasType(schema: Fields): boolean {
  return ["type", "$ref", "anyOf", "oneOf", "allOf"].some((key) => key in schema);
}
