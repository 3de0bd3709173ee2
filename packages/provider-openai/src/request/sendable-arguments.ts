import { argumentObject, isObject, tryParse } from "@ravi/kernel/provider";

/**
 * The arguments of an earlier call, to be sent back. OpenAI accepts any text. Most other servers parse them, and would refuse the
 * conversation from then on if they are empty or invalid.
 */
export function sendableArguments(text: string, isCompatible: boolean): string {
  return !isCompatible || isObject(tryParse(text)) ? text : JSON.stringify(argumentObject(text));
}
