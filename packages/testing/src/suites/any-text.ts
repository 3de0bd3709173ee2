import fc from "fast-check";

/** The halves of surrogate pairs, which are no characters, lie in the middle of the code points. */
const FIRST_HALF = 0xd8_00;
const HALVES = 0x8_00;
const LAST = 0x10_ff_ff;

const character = fc.integer({ min: 0, max: LAST - HALVES }).map(
  (place) => String.fromCodePoint(place < FIRST_HALF ? place : place + HALVES),
  // Without a way back fast-check would leave out what it knows to be dangerous, such as `__proto__`.
  (text) => {
    const [first, ...others] = typeof text === "string" ? text : "";
    const code = first?.codePointAt(0) ?? 0;
    const isHalf = code >= FIRST_HALF && code < FIRST_HALF + HALVES;
    if (first === undefined || others.length > 0 || isHalf) throw new Error("not one character");
    return code < FIRST_HALF ? code : code - HALVES;
  },
);

/**
 * Any text that has a form in UTF-8. It is what `fc.string({ unit: "binary" })` gives, without the table of all code points that
 * fast-check makes for it first, which takes 1.4 s in every process.
 */
export function anyText(
  constraints: Readonly<Pick<fc.StringConstraints, "minLength" | "maxLength">> = {},
): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: character });
}
