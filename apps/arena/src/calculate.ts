import { defineTool } from "@ravi/kernel";
import * as z from "zod";

/** The only tool in the arena. */
export const calculate = defineTool({
  name: "calculate",
  description: "Evaluates an arithmetic expression of numbers, + - * / and parentheses.",
  input: z.object({ expression: z.string().max(200) }),
  idempotent: true,
  execute: ({ expression }) => evaluate(expression),
});

/** Evaluates numbers, `+ - * /` and parentheses. Throws an error that says where it cannot read the expression. */
export function evaluate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]|\S/g) ?? [];
  let at = 0;
  const fail = (): never => {
    throw new Error(`cannot read ${JSON.stringify(expression)} at ${tokens[at] ?? "its end"}`);
  };
  const atom = (): number => {
    const token = tokens[at];
    if (token === undefined || !/^[-(\d]/.test(token)) return fail();
    at++;
    if (token === "-") return -atom();
    if (token !== "(") return Number(token);
    const value = sum();
    if (tokens[at] !== ")") return fail();
    at++;
    return value;
  };
  const product = (): number => {
    let value = atom();
    while (tokens[at] === "*" || tokens[at] === "/")
      value = tokens[at++] === "*" ? value * atom() : value / atom();
    return value;
  };
  const sum = (): number => {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-")
      value = tokens[at++] === "+" ? value + product() : value - product();
    return value;
  };
  const value = sum();
  return at === tokens.length ? value : fail();
}
