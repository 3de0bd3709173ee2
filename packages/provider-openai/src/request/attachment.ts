import type { FilePart, ImagePart } from "@ravi/kernel";
import { plainType } from "@ravi/kernel/provider";

/** A scheme of at least two letters, so that a Windows path (`C:\`) is no URL: servers would refuse the whole request. */
const ADDRESS = /^[a-z][a-z\d+.-]+:/i;

/** Whether it is a URL or a `data:` URL. */
export function isAddress(url: string): boolean {
  return ADDRESS.test(url);
}

/** Whether it is the id of an uploaded file. */
export function isUploaded(url: string): boolean {
  return /^file-[\w-]+$/.test(url);
}

export function isImage(part: ImagePart | FilePart): boolean {
  return part.type === "image" || plainType(part.mediaType).startsWith("image/");
}
