// What every subject is measured with: a model that answers at once, and one tool. The model looks only at the last
// message (0 on the user's turn, else the number in the last tool result), so a run ends well only if results really flow.
// The adapters of peers use it too: it imports nothing.

export const DONE = "done";

export interface FakeCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What a model asks for, or null for the final answer. */
export type Asked = readonly FakeCall[] | null;

/** What to ask for after `last`. A model that takes its time gives a promise. */
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
  /** Hands a task to each of a team at once; `toCall` says how that is written. */
  team:
    (size: number, toCall: (n: number) => Pick<FakeCall, "name" | "args">) =>
    (last: number): Asked =>
      last === 0 ? Array.from({ length: size }, (_, n) => ({ id: `s${n}`, ...toCall(n) })) : null,
  /** Arguments that break the tool's schema must never reach the tool. */
  invalid: (last: number): Asked => (last === 0 ? [{ id: "c0", name: "inc", args: { n: "x" } }] : null),
} as const;

export const ran = { tools: 0 };

export function inc({ n }: { n: number }): string {
  ran.tools++;
  return String(n + 1);
}
