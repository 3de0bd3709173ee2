import { readFile } from "node:fs/promises";
import { defineTool, ToolError } from "@ravi/kernel";
import * as z from "zod";

const VENDORS = ["acme", "borealis", "cascade"] as const;

export const readNote = defineTool({
  name: "read_note",
  description: "Reads what we know about a vendor.",
  input: z.object({ vendor: z.enum(VENDORS) }),
  idempotent: true,
  execute: ({ vendor }, { signal }) =>
    readFile(new URL(`../notes/${vendor}.md`, import.meta.url), { encoding: "utf8", signal }),
});

export const calculate = defineTool({
  name: "calculate",
  description: "Works out price × quantity + shipping.",
  input: z.object({
    price: z.number().positive(),
    quantity: z.number().int().positive(),
    shipping: z.number().nonnegative(),
  }),
  idempotent: true,
  execute({ price, quantity, shipping }) {
    const total = price * quantity + shipping;
    if (!Number.isFinite(total))
      throw new ToolError({ toolName: "calculate", message: "the result is not a number" });
    return total.toFixed(2);
  },
});
