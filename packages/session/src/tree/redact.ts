import { type ChatMessage, errorToJSON, type JsonValue, type SerializedError } from "@ravi/kernel";
import { tryParse } from "@ravi/kernel/provider";
import { secretPatterns, secretRemover } from "@ravi/kernel/loop";
import type { SessionEntry } from "../store/entry.ts";

/** The replacement for a secret. */
const PLACEHOLDER = "[secret]";
/** Shorter values are ignored, because they would be found inside ordinary words. */
const MIN_LENGTH = 8;
const SECRET_NAME = /(?:^|[_-]|API)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;

/** The values of environment variables whose names say that they are secret. */
export function environmentSecrets(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value !== undefined ? [value] : [],
  );
}

/** Patterns for secrets in addresses, headers and error texts. */
const SECRET_PATTERNS = secretPatterns(PLACEHOLDER);

/** Removes secrets from entries before they are stored, and from errors before they are reported. */
export interface Redactor {
  entry(entry: SessionEntry): SessionEntry;
  /** An error for extensions, hooks and observers. The caller still gets the error as it was thrown. */
  error(thrown: unknown): SerializedError;
}

type Clean = (text: string) => string;

/**
 * Creates a redactor. Known values are removed from everything except the user's own messages. What only looks like a secret is
 * removed from error texts, since addresses and headers end up there that nobody meant to store.
 */
export function redactor(secrets: readonly string[]): Redactor {
  // A secret that was read from a file may end in a newline, which is not part of it.
  const long = secrets.map((secret) => secret.trim()).filter(({ length }) => length >= MIN_LENGTH);
  const clean = secretRemover(long, PLACEHOLDER);
  const cleanError: Clean = (text) =>
    SECRET_PATTERNS.reduce((current, [shape, instead]) => current.replaceAll(shape, instead), clean(text));
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

/** Fields that name a role or a type are not free text and must not be changed. */
const FIXED_FIELDS: ReadonlySet<string> = new Set(["role", "type"]);

/** Cleans every text in a value. Returns the same object if nothing was removed, because messages are recognised by identity. */
function cleanTexts<T>(value: T, clean: Clean): T {
  if (typeof value === "string") return clean(value) as T;
  if (typeof value !== "object" || value === null) return value;
  const copy: object = Array.isArray(value) ? [] : {};
  const own = { enumerable: true, writable: true, configurable: true };
  let isSame = true;
  for (const [key, inner] of Object.entries(value)) {
    const cleaned: unknown = cleanField(key, inner, clean);
    if (cleaned !== inner) isSame = false;
    // Not by assignment: a key `__proto__` in data from a server would set the prototype.
    Object.defineProperty(copy, key, { ...own, value: cleaned });
  }
  return isSame ? value : (copy as T);
}

function cleanField(key: string, value: unknown, clean: Clean): unknown {
  if (FIXED_FIELDS.has(key)) return value;
  return key === "arguments" && typeof value === "string"
    ? cleanJson(value, clean)
    : cleanTexts(value, clean);
}

/**
 * The arguments of a call must stay valid JSON, even if the secret was a number in them: the provider reads them again in every
 * later turn.
 */
function cleanJson(text: string, clean: Clean): string {
  const cleaned = clean(text);
  if (cleaned === text || tryParse(cleaned) !== undefined) return cleaned;
  // A model may write arguments that are not JSON; they are then cleaned as plain text.
  const value = tryParse(text) as JsonValue | undefined;
  return value === undefined ? cleaned : JSON.stringify(cleanData(value, clean));
}

/** Cleans the data of an extension including its keys, since nobody else knows what they mean. */
function cleanData(data: JsonValue, clean: Clean): JsonValue {
  if (typeof data === "string") return clean(data);
  if (typeof data === "number") return clean(String(data)) === String(data) ? data : PLACEHOLDER;
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
