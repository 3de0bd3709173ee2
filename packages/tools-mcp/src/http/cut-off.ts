import { field } from "@ravi/kernel/provider";

const MARK = Object.freeze({});

/** In the place of an answer that was cut off. No server can send this: it is recognised by the object in it. */
export const CUT_OFF = Object.freeze({ code: -32_000, message: "its answer was cut off", data: MARK });

export function isCutOff(error: unknown): boolean {
  return field(error, "data") === MARK;
}
