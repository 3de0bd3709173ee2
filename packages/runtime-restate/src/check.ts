import { checkBoolean, checkFields, InvalidValueError } from "@ravi/kernel";
import { asOwn, checkMessage, checkPorts, checkText } from "@ravi/kernel/loop";
import { checkHeaders } from "@ravi/kernel/provider";
import { checkSize } from "./sizes.ts";
import { OPTIONS, type RestateRuntimeOptions } from "./options.ts";

/** Checks the options. Throws an `InvalidValueError` for the first one that is wrong. */
export function checkOptions(options: RestateRuntimeOptions): void {
  checkFields("runtime options", options, OPTIONS);
  const { createContext, stream, identityKeys } = options;
  if (typeof createContext !== "function") {
    const expected = "createRunContext of @ravi/runtime";
    throw new InvalidValueError({ field: "createContext", value: createContext, expected });
  }
  checkPorts("runtime options", asOwn(options, OPTIONS));
  checkHeaders(options.headers);
  if (stream !== undefined) checkBoolean("runtime options.stream", stream);
  checkSeconds(options);
  checkIdentityKeys(identityKeys);
}

const SECONDS = [
  "callTimeoutS",
  "retentionS",
  "parkS",
] as const satisfies readonly (keyof RestateRuntimeOptions)[];

/** The server would read an invalid time as none, or use its own default. */
function checkSeconds(options: RestateRuntimeOptions): void {
  for (const name of SECONDS) {
    const value = options[name];
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue;
    throw new InvalidValueError({
      field: `runtime options.${name}`,
      value,
      expected: "a number of seconds above 0",
    });
  }
}

/** An empty list would accept every server, which is surely not what the caller means. */
function checkIdentityKeys(keys: unknown): void {
  if (keys === undefined) return;
  const isKey = (key: unknown): boolean => typeof key === "string" && key.startsWith("publickeyv1_");
  if (Array.isArray(keys) && keys.length > 0 && keys.every(isKey)) return;
  const expected = "a list of the server's public keys, at least one, each of the form publickeyv1_…";
  throw new InvalidValueError({ field: "runtime options.identityKeys", value: keys, expected });
}

/** Throws if the runtime was closed. */
export function checkOpen(closed: AbortSignal): void {
  if (!closed.aborted) return;
  const expected = "an open one; create a new runtime";
  throw new InvalidValueError({ field: "runtime", value: "closed", expected });
}

/** Checks the arguments of `deliver`. What JSON cannot express would be lost or changed on its way to the run. */
export function checkDelivered(name: unknown, value: unknown): void {
  checkText("deliver name", name);
  if (value === undefined)
    throw new InvalidValueError({
      field: "deliver value",
      value,
      expected: "a JSON value; use null for no value",
    });
  checkSize("deliver value", checkMessage("deliver value", value));
}
