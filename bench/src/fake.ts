// Used to measure every subject: a model that answers at once, and one tool. The model looks only at the last message (0 for the
// user's turn, otherwise the number in the last tool result), so a run ends correctly only if results really get back to the
// model. The peers' adapters use this file too, so it imports nothing.

export const DONE = "done";

export interface FakeCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** The tool calls that the model requests, or null for the final answer. */
export type Asked = readonly FakeCall[] | null;

/** What the model requests after the number `last`. A slow model returns a promise. */
export type Plan = (last: number) => Asked | Promise<Asked>;

const call = (n: number): FakeCall => ({ id: `c${n}`, name: "inc", args: { n } });

export const plans = {
  answer: (): null => null,
  turns:
    (count: number) =>
    (last: number): Asked =>
      last < count ? [call(last)] : null,
  parallel:
    (count: number) =>
    (last: number): Asked =>
      last === 0 ? Array.from({ length: count }, (_, n) => call(n)) : null,
  /** Hands a task to each member of a team at once. `toCall` gives the tool call for one member. */
  team:
    (size: number, toCall: (n: number) => Pick<FakeCall, "name" | "args">) =>
    (last: number): Asked =>
      last === 0 ? Array.from({ length: size }, (_, n) => ({ id: `s${n}`, ...toCall(n) })) : null,
  /** Calls the tool with arguments that break its schema. They must never reach the tool. */
  invalid: (last: number): Asked => (last === 0 ? [{ id: "c0", name: "inc", args: { n: "x" } }] : null),
} as const;

export const ran = { tools: 0 };

export function inc({ n }: { n: number }): string {
  ran.tools++;
  return String(n + 1);
}
