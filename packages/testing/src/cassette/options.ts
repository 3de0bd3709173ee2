import { checkBoolean, checkFields, InvalidValueError, type ModelRequest } from "@ravi/kernel";

/** Options for recording and replaying. */
export interface CassetteOptions {
  /** Texts and patterns to remove, in addition to what looks like a key. Give the same ones for recording and replaying. */
  readonly redact?: readonly (string | RegExp)[] | undefined;
  /**
   * Maps requests before they are compared, to remove what changes from run to run, such as a time in the prompt. Default: the
   * whole request is compared.
   */
  readonly normalize?: ((request: ModelRequest) => ModelRequest) | undefined;
}

/** The options of `record`. */
export interface RecordOptions extends Pick<CassetteOptions, "redact"> {
  /**
   * Continue a file that already has calls of this client. Default: false, which makes that an error, since the old calls would
   * be replayed first.
   */
  readonly append?: boolean | undefined;
}

/** The options of `replay`. */
export interface ReplayOptions extends CassetteOptions {
  /** The id of the client whose calls to replay. Required if the file has calls of several clients. */
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
    const expected = "a function that takes a request and returns one";
    throw new InvalidValueError({ field: "normalize", value: normalize, expected });
  }
}

function checkRedact(redact: unknown): void {
  if (redact === undefined) return;
  const isRedact = (each: unknown): boolean => typeof each === "string" || each instanceof RegExp;
  if (Array.isArray(redact) && redact.every(isRedact)) return;
  throw new InvalidValueError({
    field: "redact",
    value: redact,
    expected: "a list of strings and regular expressions",
  });
}
