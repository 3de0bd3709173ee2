import * as z from "zod";

/** Of what `useChat` sends, the parts that are read here. The server has the conversation itself. */
const message = z.object({
  role: z.string(),
  parts: z.array(
    z.object({
      type: z.string(),
      text: z.string().optional(),
      state: z.string().optional(),
      approval: z
        .object({ id: z.string(), approved: z.boolean().optional(), reason: z.string().optional() })
        .optional(),
    }),
  ),
});

interface Answer {
  readonly name: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/** What the user has just said; empty if the last message is none of the user. */
export function textIn(messages: unknown): string {
  const last = lastOf(messages);
  if (last?.role !== "user") return "";
  return last.parts.map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("");
}

/** The answers of the user to questions about tool calls, which are in the last message, of the assistant. */
export function answersIn(messages: unknown): readonly Answer[] {
  const last = lastOf(messages);
  if (last?.role !== "assistant") return [];
  return last.parts.flatMap(({ state, approval }) => {
    if (state !== "approval-responded" || approval?.approved === undefined) return [];
    return [{ name: approval.id, approved: approval.approved, reason: approval.reason }];
  });
}

function lastOf(messages: unknown): z.infer<typeof message> | undefined {
  return message.safeParse(Array.isArray(messages) ? messages.at(-1) : undefined).data;
}
