import { type ChatMessage, errorToJSON, type JsonValue, type SerializedError } from "@ravi/kernel";
import { secretForms, secretPatterns } from "@ravi/kernel/loop";
import type { SessionEntry } from "../store/entry.ts";

/** What stands in the place of a secret. */
const HIDDEN = "[secret]";
/** A shorter value would be found in ordinary words. */
const LEAST_LENGTH = 8;
const SECRET_NAME = /(?:^|[_-]|API)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;

/** The values of environment variables that are secrets by their names. */
export function environmentSecrets(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value !== undefined ? [value] : [],
  );
}

/** In addresses, headers and error texts. */
const SHAPES = secretPatterns(HIDDEN);

/** Takes secrets out of what is written, and out of the errors that are told. */
export interface Redactor {
  entry(entry: SessionEntry): SessionEntry;
  /** An error as it is told to extensions, hooks and watchers. Whoever called gets it as it was thrown. */
  error(thrown: unknown): SerializedError;
}

type Clean = (text: string) => string;

/**
 * Known values are taken out of everything but what the user said; that is the user's own to say. What looks like a secret
 * is taken out of error texts, where addresses and headers end up that nobody meant to keep.
 */
export function redactor(secrets: readonly string[]): Redactor {
  // Of a secret that was read from a file the end of the line is no part.
  const long = secrets.map((secret) => secret.trim()).filter(({ length }) => length >= LEAST_LENGTH);
  const known = [...new Set(long.flatMap(secretForms))].toSorted((a, b) => b.length - a.length);
  const clean: Clean = (text) => known.reduce((so, secret) => so.replaceAll(secret, HIDDEN), text);
  const cleanError: Clean = (text) =>
    SHAPES.reduce((so, [shape, instead]) => so.replaceAll(shape, instead), clean(text));
  return {
    entry: (entry) => cleanEntry(entry, clean, cleanError),
    error: (thrown) => cleanSerialized(errorToJSON(thrown), cleanError),
  };
}

function cleanEntry(entry: SessionEntry, clean: Clean, cleanError: Clean): SessionEntry {
  switch (entry.kind) {
    case "message":
      return { ...entry, message: cleanMessage(entry.message, clean, cleanError) };
    case "compaction": {
      const items = entry.items.map((item) =>
        "message" in item ? { message: cleanMessage(item.message, clean, cleanError) } : item,
      );
      return { ...entry, items };
    }
    case "branch":
      return entry.note === undefined ? entry : { ...entry, note: clean(entry.note) };
    case "label":
      return entry.label === null ? entry : { ...entry, label: clean(entry.label) };
    case "prompt":
      return { ...entry, text: clean(entry.text) };
    case "custom":
      return { ...entry, name: clean(entry.name), data: cleanData(entry.data, clean) };
    default:
      return entry;
  }
}

function cleanSerialized(error: SerializedError, clean: Clean): SerializedError {
  const { message, fields, cause } = error;
  return {
    ...error,
    message: clean(message),
    fields: cleanTexts(fields, clean),
    cause: cause && cleanSerialized(cause, clean),
  };
}

function cleanMessage(message: ChatMessage, clean: Clean, cleanError: Clean): ChatMessage {
  if (message.role === "user") return message;
  const isError = message.role === "tool" && message.isError === true;
  return cleanTexts(message, isError ? cleanError : clean);
}

/** What says what a thing is, is no text of anybody's. */
const FORM: ReadonlySet<string> = new Set(["role", "type"]);

/** The same value where nothing had to be taken out: others know messages by their identity. */
function cleanTexts<T>(value: T, clean: Clean): T {
  if (typeof value === "string") return clean(value) as T;
  if (typeof value !== "object" || value === null) return value;
  const copy: object = Array.isArray(value) ? [] : {};
  const own = { enumerable: true, writable: true, configurable: true };
  let isSame = true;
  for (const [key, inner] of Object.entries(value)) {
    const cleaned: unknown = cleanField(key, inner, clean);
    if (cleaned !== inner) isSame = false;
    // Not `set`: a key `__proto__` of what a server sent would become the prototype.
    Object.defineProperty(copy, key, { ...own, value: cleaned });
  }
  return isSame ? value : (copy as T);
}

function cleanField(key: string, value: unknown, clean: Clean): unknown {
  if (FORM.has(key)) return value;
  return key === "arguments" && typeof value === "string"
    ? cleanJson(value, clean)
    : cleanTexts(value, clean);
}

/** The arguments of a call stay JSON, also where the secret was a number in them: a provider reads them in every later turn. */
function cleanJson(text: string, clean: Clean): string {
  const cleaned = clean(text);
  if (cleaned === text || parsed(cleaned) !== undefined) return cleaned;
  const value = parsed(text);
  return value === undefined ? cleaned : JSON.stringify(cleanData(value, clean));
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // A model may write what is no JSON; then it is a text like any other.
    return undefined;
  }
}

/** Of an extension's own data the names too: nobody else knows what they mean. */
function cleanData(data: JsonValue, clean: Clean): JsonValue {
  if (typeof data === "string") return clean(data);
  if (typeof data === "number") return clean(String(data)) === String(data) ? data : HIDDEN;
  if (typeof data !== "object" || data === null) return data;
  if (isList(data)) return data.map((inner) => cleanData(inner, clean));
  return Object.fromEntries(
    Object.entries(data).map(([key, inner]) => [
      clean(key),
      inner === undefined ? inner : cleanData(inner, clean),
    ]),
  );
}

function isList(data: JsonValue): data is readonly JsonValue[] {
  return Array.isArray(data);
}
