import { field, fieldsOf, isObject, listOf, stringOr, withoutField } from "@ravi/kernel/provider";
import { chooseRemedy, leaveOut, type Rejection, type Remedy } from "../failure/corrections.ts";
import { type EffortPlace, effortRemedy } from "../failure/effort-remedy.ts";
import { imageRemedy } from "../failure/image-remedy.ts";
import { type SchemaPlaces, schemaRemedy } from "../failure/schema-remedy.ts";
import type { RequestBody } from "../wire/protocol.ts";
import { UNREADABLE } from "../failure/unreadable.ts";
import { outputInWords } from "../request/output-format.ts";

/**
 * Parameters that a request can do without. The limit of output tokens is never left out, because the budget reserved that many.
 */
const REMEDIES: readonly Remedy[] = [
  ...["temperature", "top_p", "reasoning.summary"].map((param) => leaveOut(param)),
  // In the words of xAI.
  leaveOut("reasoning.effort", /\breasoningEffort\b/),
  leaveOut("reasoning", /\breasoning\b/i),
  leaveOut("include", /encrypted[ _]content/i),
  ...["parallel_tool_calls", "text.verbosity", "prompt_cache_key", "store"].map((param) => leaveOut(param)),
  // Some accounts may not stream the newest models. The answer then comes in one piece.
  leaveOut("stream"),
  {
    param: "text.format",
    words: /json_schema|structured output/i,
    effect: "the schema of the answer is sent as text from now on",
    apply: askInWords,
  },
];

/** What to change in a request that the server refused; undefined if nothing can be. */
export function responsesRemedy(rejection: Rejection, sent: RequestBody): Remedy | undefined {
  return (
    reasoningRemedy(rejection, sent) ??
    schemaRemedy(rejection, sent, PLACES) ??
    effortRemedy(rejection, sent, EFFORT) ??
    chooseRemedy(rejection, sent, REMEDIES) ??
    imageRemedy(rejection, sent, { list: "input", without: withoutImages })
  );
}

const PLACES: SchemaPlaces = {
  output: { param: "text.format", schemaOf, inWords: askInWords },
  tool: { read: (tool) => tool, write: (_, description) => description },
};

const EFFORT: EffortPlace = {
  param: "reasoning.effort",
  read: (body) => field(body["reasoning"], "effort"),
  write: (body, effort) =>
    effort === undefined
      ? withoutField(body, "reasoning.effort")
      : { ...body, reasoning: { ...fieldsOf(body["reasoning"]), effort } },
};

/** A tool's result without its images; undefined if it has none. */
function withoutImages(item: unknown, text: string): object | undefined {
  const parts = listOf(field(item, "output"));
  const isImage = (part: unknown): boolean => field(part, "type") === "input_image";
  if (!isObject(item) || !parts.some(isImage)) return undefined;
  return { ...item, output: parts.map((part) => (isImage(part) ? { type: "input_text", text } : part)) };
}

function schemaOf(body: RequestBody): unknown {
  return field(field(body["text"], "format"), "schema");
}

function askInWords(body: RequestBody): RequestBody {
  const schema = schemaOf(body);
  const rest = withoutField(body, "text.format");
  if (schema === undefined) return rest;
  return { ...rest, input: [...listOf(body["input"]), { role: "system", content: outputInWords(schema) }] };
}

/** A server that looks up the item although it was sent whole. */
const NOT_KEPT = /item with id '[^']{1,200}' not found/i;
/** The item that followed the reasoning was not sent, for example the call of a tool that runs at the server, which is not kept. */
const LEADS_NOWHERE = /reasoning'? was provided without its required following item/i;
const NO_REASONING = /reasoning (?:input )?items? can only be provided to/i;

/**
 * What to do if the server refuses the reasoning in the conversation. A model that does not reason never accepts any, so all of it
 * is left out. Reasoning that another account has encrypted, as when a conversation continues elsewhere, is left out from now on;
 * that of later turns is this server's own and stays.
 */
function reasoningRemedy({ status, code, message }: Rejection, sent: RequestBody): Remedy | undefined {
  if (status !== 400 && status !== 404) return undefined;
  const isUnreadable =
    code === "invalid_encrypted_content" || UNREADABLE.test(message) || NOT_KEPT.test(message);
  const leadsNowhere = LEADS_NOWHERE.test(message);
  if (!isUnreadable && !leadsNowhere && !NO_REASONING.test(message)) return undefined;
  const isMeant = (item: unknown): boolean => isReasoning(item) || (isUnreadable && isCompaction(item));
  const items = listOf(sent["input"]).filter(isMeant);
  if (items.length === 0) return undefined;
  const seals = new Set(items.map(sealOf));
  const isRefused = (item: unknown): boolean =>
    isMeant(item) && ((!isUnreadable && !leadsNowhere) || seals.has(sealOf(item)));
  return {
    param: "input",
    repeats: true,
    isSingle: isUnreadable || leadsNowhere,
    effect: isUnreadable
      ? "it has reasoning that the server cannot read, which is left out"
      : leadsNowhere
        ? "it has reasoning without the item that followed it, which is left out"
        : "the model accepts no reasoning of earlier turns, which is left out from now on",
    apply: (body) => ({ ...body, input: listOf(body["input"]).filter((item) => !isRefused(item)) }),
  };
}

function isReasoning(item: unknown): boolean {
  return field(item, "type") === "reasoning";
}

/** Sealed in the same way. All that was compacted is sent too, so it can be left out. */
function isCompaction(item: unknown): boolean {
  return field(item, "type") === "compaction";
}

function sealOf(item: unknown): string {
  return stringOr(field(item, "encrypted_content"), "");
}
