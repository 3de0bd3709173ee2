import type { Attachment } from "@ravi/sdk";

const COLOURS: Readonly<Record<string, readonly number[]>> = { red: [255, 0, 0], green: [0, 255, 0] };

/** Where a GIF has the first colour of its palette. */
const PALETTE = 13;

/** A picture of one point. */
export function picture(colour: string): Attachment {
  const head = [...Buffer.from("GIF89a"), 1, 0, 1, 0, 128, 0, 0];
  const palette = [...(COLOURS[colour] ?? []), 0, 0, 0];
  const point = [0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 68, 1, 0, 0x3b];
  const bytes = Buffer.from([...head, ...palette, ...point]);
  return { type: "image", url: `data:image/gif;base64,${bytes.toString("base64")}`, mediaType: "image/gif" };
}

/** The colour of such a picture, by its bytes. */
export function colourOf(url: string): string {
  const bytes = Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
  const point = bytes.subarray(PALETTE, PALETTE + 3);
  return Object.keys(COLOURS).find((name) => point.equals(Buffer.from(COLOURS[name] ?? []))) ?? "nothing";
}
