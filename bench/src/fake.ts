// What every subject is measured with: a model that answers at once, and one tool. The model looks only at the last
// message (0 on the user's turn, else the number in the last tool result), so a run ends well only if results really flow.

export const DONE = "done";

export interface FakeCall {
  readonly id: string;
  readonly name: "inc";
  readonly args: { readonly n: number };
}

/** What to ask for after `last`, or null for the final answer. */
export type Plan = (last: number) => readonly FakeCall[] | null;

const call = (n: number): FakeCall => ({ id: `c${n}`, name: "inc", args: { n } });

export const plans = {
  answer: (): null => null,
  turns:
    (count: number): Plan =>
    (last) =>
      last < count ? [call(last)] : null,
  parallel:
    (count: number): Plan =>
    (last) =>
      last === 0 ? Array.from({ length: count }, (_, n) => call(n)) : null,
} as const;

export const ran = { tools: 0 };

export function inc({ n }: { n: number }): string {
  ran.tools++;
  return String(n + 1);
}
