const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * The base64 of the UTF-8 bytes of a well-formed text. Written by hand because not every platform can turn bytes into base64 yet.
 */
export function base64(text: string): string {
  const bytes = utf8(text);
  let result = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const [first = 0, second, third] = bytes.slice(at, at + 3);
    const group = (first << 16) | ((second ?? 0) << 8) | (third ?? 0);
    result += letter(group >> 18) + letter(group >> 12);
    result += second === undefined ? "=" : letter(group >> 6);
    result += third === undefined ? "=" : letter(group);
  }
  return result;
}

function letter(bits: number): string {
  return LETTERS.charAt(bits & 63);
}

function utf8(text: string): number[] {
  const escaped = encodeURIComponent(text).matchAll(/%(..)|./g);
  return [...escaped].map(([plain, hex]) => (hex === undefined ? plain.charCodeAt(0) : Number(`0x${hex}`)));
}
