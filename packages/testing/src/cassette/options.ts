import { checkFields, type ModelRequest } from "@ravi/kernel";

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
}

export function checkReplayOptions(options: ReplayOptions): void {
  checkFields("replay options", options, ["redact", "normalize", "id"]);
}
