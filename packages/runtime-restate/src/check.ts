import { checkFields, InvalidValueError } from "@ravi/kernel";
import { checkMessage, checkPorts } from "@ravi/kernel/loop";
import { checkHeaders } from "@ravi/kernel/provider";
import { OPTIONS, type RestateRuntimeOptions } from "./options.ts";

export function checkOptions(options: RestateRuntimeOptions): void {
  checkFields("runtime options", options, OPTIONS);
  const { createContext, identityKeys } = options;
  if (typeof createContext !== "function") {
    const expected = "createRunContext of @ravi/runtime";
    throw new InvalidValueError({ field: "createContext", value: createContext, expected });
  }
  checkPorts("runtime options", options);
  checkHeaders(options.headers);
  checkSeconds(options);
  checkIdentityKeys(identityKeys);
}

const SECONDS = [
  "callTimeoutS",
  "retentionS",
  "parkS",
] as const satisfies readonly (keyof RestateRuntimeOptions)[];

/** The server would take what is no time for none, or for one of its own. */
function checkSeconds(options: RestateRuntimeOptions): void {
  for (const name of SECONDS) {
    const value = options[name];
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue;
    throw new InvalidValueError({ field: `runtime options.${name}`, value, expected: "seconds above 0" });
  }
}

/** No key at all would serve everybody, which nobody means who gives a list of them. */
function checkIdentityKeys(keys: unknown): void {
  if (keys === undefined) return;
  const isKey = (key: unknown): boolean => typeof key === "string" && key.startsWith("publickeyv1_");
  if (Array.isArray(keys) && keys.length > 0 && keys.every(isKey)) return;
  const expected = "a list of keys, each as the server tells it: publickeyv1_…";
  throw new InvalidValueError({ field: "runtime options.identityKeys", value: keys, expected });
}

/** What JSON cannot say would reach the run as nothing at all, as something else, or not. */
export function checkDelivered(name: unknown, value: unknown): void {
  if (typeof name !== "string")
    throw new InvalidValueError({ field: "deliver name", value: name, expected: "a text" });
  if (value === undefined)
    throw new InvalidValueError({ field: "deliver value", value, expected: "plain JSON; null for nothing" });
  checkMessage("deliver value", value);
}
