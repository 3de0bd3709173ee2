/**
 * How many tokens a text may be, from its characters alone: for when no tokenizer is installed. It is meant to be too high
 * rather than too low: English prose is 4 to 5 characters a token and code about 3; here small letters and spaces count a third
 * of a token, digits a half, capitals 0.6, other ASCII signs three quarters, and all else by its bytes, half a token each.
 * What goes on after 12 letters and digits in a row (a hash, base64, text without spaces) hardly merges in any vocabulary
 * and counts 0.8 each.
 */
export function charactersToTokens(text: string): number {
  let tokens = 0;
  let run = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const alone = aloneInWord(code);
    if (alone > 0) {
      tokens += ++run > LONG_RUN ? 0.8 : alone;
    } else {
      run = 0;
      if (code === 0x20) tokens += 1 / 3;
      else if (code < 0x80) tokens += 0.75;
      // Two bytes in UTF-8, or three; each half of a surrogate pair stands for two of four.
      else if (code < 0x800 || (code >= 0xd800 && code <= 0xdfff)) tokens += 1;
      else tokens += 1.5;
    }
  }
  return Math.ceil(tokens);
}

const LONG_RUN = 12;

/** What a letter or digit counts in a word of ordinary length; 0 for anything else. */
function aloneInWord(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return 1 / 3;
  if (code >= 0x41 && code <= 0x5a) return 0.6;
  return code >= 0x30 && code <= 0x39 ? 0.5 : 0;
}
