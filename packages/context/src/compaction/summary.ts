import type { ChatMessage, UserMessage } from "@ravi/kernel";

/** The `name` of a summary message. Providers get it like any user's name. */
export const SUMMARY_NAME = "ravi_summary";

const HEADING = "[Summary of the earlier conversation]\n";

export function summaryMessage(text: string): UserMessage {
  return Object.freeze({ role: "user", name: SUMMARY_NAME, content: HEADING + text });
}

export function isSummary(message: ChatMessage): boolean {
  return message.role === "user" && message.name === SUMMARY_NAME;
}

/** The text of a summary message, without its heading. */
export function summaryText(message: UserMessage): string {
  const content = typeof message.content === "string" ? message.content : "";
  return content.startsWith(HEADING) ? content.slice(HEADING.length) : content;
}
