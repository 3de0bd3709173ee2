import { decode, encode, type SourceMapSegment as Segment } from "@jridgewell/sourcemap-codec";

/**
 * A source map without the positions that nobody asks for. Compilers write one for each word, and the maps of all packages that the
 * sdk brings were as large as their code.
 */

type Keeps = (before: string, after: string, segment: Segment, previous: Segment) => boolean;

/** Of code: where a line comes from, and where a stack trace says that something was called, made, thrown or waited for. */
export function thinCodeMap(map: string, code: string): string {
  return thin(map, code, (_, after, segment, previous) => {
    const isOtherLine = segment[1] !== previous[1] || segment[2] !== previous[2];
    return isOtherLine || segment.length > 4 || CALLED.test(after);
  });
}

/** Of declarations: where a line comes from, and where the names begin and end that an editor goes to. */
export function thinDeclarationMap(map: string, declarations: string): string {
  return thin(
    map,
    declarations,
    (before, after) =>
      AFTER_WORD.test(before) || AFTER_MEMBER.test(before) || (AT_MEMBER.test(before) && MEMBER.test(after)),
  );
}

const CALLED = /^(?:[\w$#]+(?:\?\.)?\(|new\b|throw\b|await\b|yield\b)/;

const NAME = String.raw`(?:[\w$#]+|"[^"]*"|\[[\w.]+\])`;
const WORD =
  "(?:class|interface|type|function|const|let|readonly|static|abstract|protected|private|get|set) ";
const AFTER_WORD = new RegExp(String.raw`\b${WORD}${NAME}?$`);
const IN_LIST = String.raw`(?:^|[{(,;])\s*(?:\.\.\.)?`;
const AT_MEMBER = new RegExp(`${IN_LIST}$`);
const MEMBER = new RegExp(String.raw`^${NAME}\??[:(<]`);
const AFTER_MEMBER = new RegExp(`${IN_LIST}${NAME}$`);

function thin(map: string, text: string, keeps: Keeps): string {
  const parsed = JSON.parse(map) as { mappings: string };
  const lines = text.split("\n");
  const kept = decode(parsed.mappings).map((segments, at) => {
    const line = lines[at] ?? "";
    let previous: Segment | undefined;
    return segments.filter((segment) => {
      const [column] = segment;
      const isKept =
        previous === undefined || keeps(line.slice(0, column), line.slice(column), segment, previous);
      if (isKept) previous = segment;
      return isKept;
    });
  });
  return JSON.stringify({ ...parsed, mappings: encode(kept) });
}
