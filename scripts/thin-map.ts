/**
 * A source map without the positions that nobody asks for. Compilers write one for each word, and the maps of all packages that the
 * sdk brings were as large as their code.
 */

/** Column in the line, source, line and column in the source; of some, which of the names. */
type Segment = readonly number[];
type Keeps = (before: string, after: string, segment: Segment, previous: Segment) => boolean;

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
      const column = segment[0] ?? 0;
      const isKept =
        previous === undefined || keeps(line.slice(0, column), line.slice(column), segment, previous);
      if (isKept) previous = segment;
      return isKept;
    });
  });
  return JSON.stringify({ ...parsed, mappings: encode(kept) });
}

/** Columns begin anew in each line; the other numbers are differences to those of the segment before. */
function decode(mappings: string): Segment[][] {
  const sums: number[] = [];
  return mappings.split(";").map((line) => {
    sums[0] = 0;
    return line === ""
      ? []
      : line
          .split(",")
          .map((segment) => numbersIn(segment).map((each, at) => (sums[at] = (sums[at] ?? 0) + each)));
  });
}

function encode(lines: readonly (readonly Segment[])[]): string {
  const last: number[] = [];
  return lines
    .map((segments) => {
      last[0] = 0;
      return segments
        .map((segment) =>
          segment
            .map((each, at) => {
              const difference = each - (last[at] ?? 0);
              last[at] = each;
              return digitsOf(difference);
            })
            .join(""),
        )
        .join(",");
    })
    .join(";");
}

/** Five bits in each digit, the lowest first; the sixth says that more follow. The lowest bit of all is the sign. */
function numbersIn(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) !== 0) continue;
    numbers.push((value & 1) === 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}

function digitsOf(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let digits = "";
  do {
    const bits = rest & 31;
    rest >>>= 5;
    digits += DIGITS[rest > 0 ? bits | 32 : bits];
  } while (rest > 0);
  return digits;
}
