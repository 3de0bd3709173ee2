import { asOwn, checkFields } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";
import type { FilePart, ImagePart, TextPart } from "./messages.ts";

/** The parts of a message that users make. */
export type GivenPart = TextPart | ImagePart | FilePart;

const FIELDS = {
  text: ["type", "text"],
  image: ["type", "url", "mediaType"],
  file: ["type", "url", "mediaType", "name"],
} as const;

/** What providers log, and tell the model of a file that is left out. Longer ones would be sent without having been estimated. */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+*-]{1,127}(?:;[ -~]{0,200})?$/;
// Control characters by number: of `\P{Cc}` the engine collects all characters that are none, whenever it reads this file.
// oxlint-disable-next-line eslint/no-control-regex -- they are what is refused
const FILE_NAME = /^[^\u0000-\u001f\u007f-\u009f]{0,255}$/u;

/** A path of the disk, absolute or relative: no id of an uploaded file looks like one, and nobody would read it. */
const PATH = /^(?:file:|\.{0,2}[/\\]|~[/\\]|[a-z]:[/\\])/i;
const URL_OR_ID = "a data: or https: URL, or the id of a file that was uploaded to the provider";

/**
 * A frozen copy of a part, so that nobody can change later what is on record. Throws an `InvalidValueError` if it is not of one of these
 * types, or if a field is missing, wrong or unknown.
 */
export function ownPart<T extends GivenPart["type"]>(
  field: string,
  given: unknown,
  types: readonly T[],
): Extract<GivenPart, { readonly type: T }> {
  const part = (typeof given === "object" ? given : null) as Readonly<Record<string, unknown>> | null;
  const refuse = (name: string, value: unknown, expected: string): never => {
    throw new InvalidValueError({ field: `${field}${name}`, value, expected });
  };
  const type = types.find((known) => known === part?.["type"]);
  if (part === null || type === undefined) return refuse("", given, `a part of the type ${anyOf(types)}`);
  checkFields(field, part, FIELDS[type]);
  const own = asOwn(part, FIELDS[type]);
  const { text, url, mediaType, name } = own;
  if (type === "text" && typeof text !== "string") refuse(".text", text, "a string");
  if (type !== "text" && (typeof url !== "string" || url === "")) refuse(".url", url, URL_OR_ID);
  if (matches(PATH, url))
    refuse(
      ".url",
      url,
      `${URL_OR_ID}; a file of the disk becomes a data: URL: \`data:image/png;base64,\${await readFile(path, "base64")}\``,
    );
  if ((type === "file" || mediaType !== undefined) && !matches(MEDIA_TYPE, mediaType))
    refuse(".mediaType", mediaType, 'a media type, such as "application/pdf"');
  if (name !== undefined && !matches(FILE_NAME, name))
    refuse(".name", name, "the name of the file: at most 255 characters, and no control characters");
  return Object.freeze(own) as Extract<GivenPart, { readonly type: T }>;
}

function matches(pattern: RegExp, value: unknown): boolean {
  return typeof value === "string" && pattern.test(value);
}

function anyOf(types: readonly string[]): string {
  const names = types.map((type) => `"${type}"`);
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].join(" or ");
}
