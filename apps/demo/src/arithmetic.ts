import { InvalidValueError } from "@ravi/kernel";

/**
 * Evaluates an expression of numbers, `+ - * /` and parentheses without `eval`. Throws an `InvalidValueError` that says what was
 * expected.
 */
export function evaluate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]|\S/g) ?? [];
  let at = 0;
  const wrong = (expected: string): never => {
    throw new InvalidValueError({ field: "expression", value: expression, expected });
  };
  const sum = (): number => {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-") value += tokens[at++] === "+" ? product() : -product();
    return value;
  };
  const product = (): number => {
    let value = factor();
    while (tokens[at] === "*" || tokens[at] === "/") {
      if (tokens[at++] === "*") value *= factor();
      else value /= factor();
    }
    return value;
  };
  const factor = (): number => {
    const token = tokens[at++];
    if (token === "-") return -factor();
    if (token === "(") {
      const value = sum();
      return tokens[at++] === ")" ? value : wrong("a closing parenthesis");
    }
    const value = Number(token);
    return token === undefined || Number.isNaN(value)
      ? wrong(`a number or a parenthesis instead of ${token ?? "the end"}`)
      : value;
  };
  const value = sum();
  if (at < tokens.length) wrong(`an operator instead of ${tokens[at]}`);
  return Number.isFinite(value) ? value : wrong("a finite result; this one divides by zero");
}
