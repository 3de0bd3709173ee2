import { isObject, tryParse } from "@ravi/kernel/provider";

/**
 * The arguments of a call for the way back. OpenAI takes them as the model wrote them; most others parse them again, and refuse
 * the whole conversation from then on for a call that has none, or whose arguments are broken. There the model is shown them.
 */
export function sendableArguments(text: string, isCompatible: boolean): string {
  if (!isCompatible || isObject(tryParse(text))) return text;
  return text.trim() === "" ? "{}" : JSON.stringify({ unreadable_arguments: text });
}
