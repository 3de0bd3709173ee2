import { checkFields, checkInteger, InvalidValueError, type Logger } from "@ravi/kernel";
import { checkPort, LEAST_RESULT_CHARS } from "@ravi/kernel/loop";
import { readManifest } from "./manifest.ts";
import type { McpManifest, McpToolDefinition } from "./model.ts";

/** Options of `mcpTools()`. All are optional. */
export interface McpToolsOptions {
  /** Put before the name of each tool, such as `offers_`. Default: none. */
  readonly prefix?: string | undefined;
  /** The tools that are used, by the server's own names. Default: all. */
  readonly include?: readonly string[] | undefined;
  /** The tools that are not used, by the server's own names. Default: none. */
  readonly exclude?: readonly string[] | undefined;
  /** What was approved: an earlier `manifest`, as it was or parsed from JSON. Default: what the server offers at first. */
  readonly approved?: unknown;
  /** Whether a person has to approve each call. A function decides for each tool. Default: false. */
  readonly needsApproval?: boolean | ((tool: McpToolDefinition) => boolean) | undefined;
  /** Seconds that a call may take, progress or not. Default: 60. Over HTTP, Node gives up a server that is silent for 300 seconds. */
  readonly timeoutS?: number | undefined;
  /** The most characters of text that the model is told of one result; the middle is cut out. Default: 100,000. */
  readonly maxResultChars?: number | undefined;
  /** The most bytes of pictures and files in one result; what is beyond is left out, and a text says so. Default: 5 MiB. */
  readonly maxMediaBytes?: number | undefined;
  /** Texts that are removed from results and errors. Default: none, and with `openMcp` those of the headers and variables. */
  readonly secrets?: readonly string[] | undefined;
  /** What errors call the server. Default: the name that it gives itself. */
  readonly name?: string | undefined;
  /** Gets a warning for each tool that is left out because the server defines it wrongly. Default: the console. */
  readonly logger?: Logger | undefined;
}

const TOOLS_OPTIONS = [
  "prefix",
  "include",
  "exclude",
  "approved",
  "needsApproval",
  "timeoutS",
  "maxResultChars",
  "maxMediaBytes",
  "secrets",
  "name",
  "logger",
] as const satisfies readonly (keyof McpToolsOptions)[];

/** The options, checked and with all defaults. */
export interface ToolOptions {
  readonly prefix: string;
  readonly include: readonly string[] | undefined;
  readonly exclude: readonly string[] | undefined;
  readonly approved: McpManifest | undefined;
  readonly needsApproval: boolean | ((tool: McpToolDefinition) => boolean);
  readonly timeoutS: number;
  readonly maxResultChars: number;
  readonly maxMediaBytes: number;
  readonly secrets: readonly string[];
  readonly name: string | undefined;
  readonly logger: Logger;
}

/** Throws an `InvalidValueError` for what would only fail later, or never: an unknown option, a prefix that no provider accepts. */
export function toolOptions(
  what: string,
  given: McpToolsOptions,
  others: readonly string[] = [],
): ToolOptions {
  checkFields(what, given, [...TOOLS_OPTIONS, ...others]);
  const { prefix = "", needsApproval = false, name } = given;
  if (typeof prefix !== "string" || !/^[\w-]{0,32}$/.test(prefix))
    refuse("prefix", prefix, "at most 32 letters, digits, '_' or '-'");
  if (typeof needsApproval !== "boolean" && typeof needsApproval !== "function")
    refuse("needsApproval", needsApproval, "true, false, or a function that gets the definition of a tool");
  if (name !== undefined && (typeof name !== "string" || name === ""))
    refuse("name", name, "a non-empty string");
  if (given.logger !== undefined) checkPort("logger", given.logger, ["debug", "info", "warn", "error"]);
  return Object.freeze({
    prefix,
    include: texts("include", given.include),
    exclude: texts("exclude", given.exclude),
    approved: given.approved === undefined ? undefined : readManifest(given.approved),
    needsApproval,
    timeoutS: seconds("timeoutS", given.timeoutS ?? 60),
    maxResultChars: checkInteger("maxResultChars", given.maxResultChars ?? 100_000, LEAST_RESULT_CHARS),
    maxMediaBytes: checkInteger("maxMediaBytes", given.maxMediaBytes ?? 5 * 1024 * 1024, 0),
    secrets: texts("secrets", given.secrets) ?? [],
    name,
    logger: given.logger ?? console,
  });
}

/** A week: beyond three weeks, timers of the platform fire at once. */
const MAX_SECONDS = 604_800;

export function seconds(field: string, value: number): number {
  if (typeof value !== "number" || !(value > 0 && value <= MAX_SECONDS))
    refuse(field, value, `a number of seconds, more than 0 and at most ${MAX_SECONDS}`);
  return value;
}

/** Never shows the texts themselves, since secrets are among them. */
export function texts(field: string, value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || !value.every((each) => typeof each === "string"))
    throw new InvalidValueError({ field, value: "(not shown)", expected: "a list of strings" });
  return Object.freeze([...(value as readonly string[])]);
}

export function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field, value, expected });
}
