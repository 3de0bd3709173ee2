/** What a data: URL holds. Read without `Buffer`, which browsers do not have. */
export interface DataUrl {
  readonly mediaType: string;
  base64(): string;
  /** The content as UTF-8. */
  text(): string;
}

/** Undefined for any other URL. */
export function readDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(",");
  if (!/^data:/i.test(url) || comma === -1) return undefined;
  const [mediaType = "", ...settings] = url.slice("data:".length, comma).toLowerCase().split(";");
  const body = url.slice(comma + 1);
  if (!settings.includes("base64")) {
    const text = unescaped(body).toWellFormed();
    return { mediaType, base64: () => btoa(binary(new TextEncoder().encode(text))), text: () => text };
  }
  return {
    mediaType,
    base64: () => btoa(decoded(body)),
    text: () => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes(decoded(body))),
  };
}

/** One character for each byte. Whatever is no base64 is skipped, and so is half a byte at the end. */
function decoded(base64: string): string {
  try {
    return atob(base64);
  } catch {
    return atob(onlySigns(base64));
  }
}

/** What is left of it for `atob`, which reads no other signs and no wrong padding. */
function onlySigns(base64: string): string {
  const signs = base64
    .replace(/=.*/s, "")
    .replace(/[^\w+/-]/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  return signs.length % 4 === 1 ? signs.slice(0, -1) : signs;
}

function bytes(text: string): Uint8Array {
  const all = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) all[at] = text.charCodeAt(at);
  return all;
}

function binary(all: Uint8Array): string {
  let text = "";
  for (const byte of all) text += String.fromCharCode(byte);
  return text;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // It was not percent-encoded.
    return text;
  }
}
