import { checkBoolean, checkFields, InvalidValueError, type ModelRequest } from "@ravi/kernel";

export interface CassetteOptions {
  /** Texts and patterns that must not be in the file, beside what looks like a key. The same for recording and replaying. */
  readonly redact?: readonly (string | RegExp)[] | undefined;
  /** What of a request counts, for prompts with a time or a number of their own in them: all of it. */
  readonly normalize?: ((request: ModelRequest) => ModelRequest) | undefined;
}

export interface RecordOptions extends Pick<CassetteOptions, "redact"> {
  /** Goes on with a file that has calls of this client already. Without it that is an error: they would be replayed first. */
  readonly append?: boolean | undefined;
}

export interface ReplayOptions extends CassetteOptions {
  /** Whose calls to replay; needed where the file has those of several clients. */
  readonly id?: string | undefined;
}

export function checkRecordOptions(options: RecordOptions): void {
  checkFields("record options", options, ["redact", "append"]);
  checkRedact(options.redact);
  if (options.append !== undefined) checkBoolean("append", options.append);
}

export function checkReplayOptions(options: ReplayOptions): void {
  checkFields("replay options", options, ["redact", "normalize", "id"]);
  checkRedact(options.redact);
  const { normalize } = options;
  if (normalize !== undefined && typeof normalize !== "function") {
    const expected = "a function of a request that gives one";
    throw new InvalidValueError({ field: "normalize", value: normalize, expected });
  }
}

function checkRedact(redact: unknown): void {
  if (redact === undefined) return;
  const isRedact = (each: unknown): boolean => typeof each === "string" || each instanceof RegExp;
  if (Array.isArray(redact) && redact.every(isRedact)) return;
  throw new InvalidValueError({ field: "redact", value: redact, expected: "a list of texts and patterns" });
}
