import { isObject, tryParse } from "@ravi/kernel/provider";

/**
 * The arguments of an earlier call, to be sent back. OpenAI accepts any text. Most other servers parse them, and would refuse the
 * conversation from then on if they are empty or invalid. There, invalid arguments are wrapped in a JSON object that shows them to
 * the model.
 */
export function sendableArguments(text: string, isCompatible: boolean): string {
  if (!isCompatible || isObject(tryParse(text))) return text;
  return text.trim() === "" ? "{}" : JSON.stringify({ unreadable_arguments: text });
}
