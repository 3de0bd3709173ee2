import type { JsonSchema, SchemaIssue } from "@ravi/kernel";
import { isObject, listOf } from "@ravi/kernel/provider";
import { arrayRules, numberRules, objectRules, otherwise, stringRules } from "./rules.ts";
import { isDecided, NOTHING_WRONG, type Ruling, together, UNKNOWN, wrong } from "./ruling.ts";

/** Enough for any sensible schema. One that was made to take for ever needs more. */
const MAX_STEPS = 100_000;
/** In-place references may lead back to themselves. */
const MAX_DEPTH = 300;

/** They say nothing about which values are valid. */
const ANNOTATIONS = new Set([
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

/**
 * What is certainly wrong with a value. A server's schema is not to be trusted with the process: no code is made of it, its patterns are
 * not run, and it gets a limited number of steps. What is not decided here (patterns, formats, references to elsewhere, rare keywords)
 * is left to the server, so nothing that is right is ever refused.
 */
export function problemsIn(schema: JsonSchema, value: unknown): readonly SchemaIssue[] {
  const { issues } = new Check(schema).rule(schema, value, [], 0);
  return issues;
}

type Path = readonly PropertyKey[];

class Check {
  private readonly root: JsonSchema;
  private steps = 0;
  /** What it costs, in steps, to look through a large object or array, of the value or of the schema. */
  private readonly weights = new Map<object, number>();

  constructor(root: JsonSchema) {
    this.root = root;
  }

  rule(schema: unknown, value: unknown, path: Path, depth: number): Ruling {
    if (!this.affords(1 + this.weightOf(value) + this.weightOf(schema)) || depth > MAX_DEPTH) return UNKNOWN;
    if (schema === true) return NOTHING_WRONG;
    if (schema === false) return wrong(path, "is not allowed here");
    if (!isObject(schema)) return UNKNOWN;
    // Its own id changes what the references in it mean.
    if (schema !== this.root && schema["$id"] !== undefined) return UNKNOWN;
    const below = (inner: unknown, part: unknown = value, at: Path = path): Ruling =>
      this.rule(inner, part, at, depth + 1);
    const reference = schema["$ref"];
    // Up to draft 7, what stands beside a reference does not count. It is skipped in any draft, since it is not worth the difference.
    if (reference !== undefined) {
      const target = this.resolve(reference);
      const ruling = target === undefined ? UNKNOWN : below(target);
      return Object.keys(schema).length === 1 ? ruling : { ...ruling, isCertain: false };
    }
    const rulings: Ruling[] = [];
    for (const [keyword, asked] of Object.entries(schema)) {
      if (ANNOTATIONS.has(keyword)) continue;
      if (!this.affords(this.weightOf(value) + this.weightOf(asked))) return together([...rulings, UNKNOWN]);
      rulings.push(this.keyword(keyword, asked, schema, value, path, below));
    }
    return together(rulings);
  }

  private affords(steps: number): boolean {
    this.steps += steps;
    return this.steps <= MAX_STEPS;
  }

  private keyword(
    keyword: string,
    asked: unknown,
    schema: Readonly<Record<string, unknown>>,
    value: unknown,
    path: Path,
    below: (inner: unknown, part?: unknown, at?: Path) => Ruling,
  ): Ruling {
    switch (keyword) {
      case "type":
        return typeRule(asked, value, path);
      case "const":
        return this.among([asked], value, path);
      case "enum":
        return Array.isArray(asked) ? this.among(asked, value, path) : UNKNOWN;
      case "allOf":
        return together(listOf(asked).map((each) => below(each)));
      case "anyOf":
        return oneAtLeast(
          listOf(asked).map((each) => below(each)),
          path,
        );
      case "oneOf":
        return exactlyOne(
          listOf(asked).map((each) => below(each)),
          path,
        );
      case "not": {
        const ruling = below(asked);
        if (!isDecided(ruling)) return UNKNOWN;
        return ruling.issues.length > 0 ? NOTHING_WRONG : wrong(path, "is of a form that is not allowed");
      }
      default:
        if (typeof value === "string") return stringRules(keyword, asked, value, path);
        if (typeof value === "number") return numberRules(keyword, asked, value, path);
        if (Array.isArray(value)) return arrayRules(keyword, asked, schema, value, path, below);
        if (isObject(value)) return objectRules(keyword, asked, schema, value, path, below);
        return otherwise(keyword, "another");
    }
  }

  private among(allowed: readonly unknown[], value: unknown, path: Path): Ruling {
    this.steps += allowed.length;
    if (allowed.includes(value)) return NOTHING_WRONG;
    // To compare large values with thousands of others takes too long.
    if (isComposed(value) && allowed.some(isComposed)) return UNKNOWN;
    const some = allowed.slice(0, 20).map(shown).join(", ");
    return wrong(path, `is ${shown(value)}; expected ${allowed.length > 1 ? "one of " : ""}${some}`);
  }

  private weightOf(value: unknown): number {
    if (typeof value !== "object" || value === null) return 0;
    let weight = this.weights.get(value);
    if (weight === undefined) {
      weight = Math.floor((Array.isArray(value) ? value : Object.keys(value)).length / 10);
      this.weights.set(value, weight);
    }
    return weight;
  }

  /** Only within the schema: nothing is fetched. */
  private resolve(reference: unknown): unknown {
    if (reference === "#") return this.root;
    if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
    if (!this.affords(Math.floor(reference.length / 10))) return undefined;
    let target: unknown = this.root;
    for (const part of reference.slice(2).split("/")) {
      const key = decoded(part);
      if (typeof target !== "object" || target === null || key === undefined) return undefined;
      if (isObject(target) && target !== this.root && target["$id"] !== undefined) return undefined;
      if (!Object.hasOwn(target, key)) return undefined;
      target = Reflect.get(target, key);
    }
    return target;
  }
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}

const TYPES = ["string", "number", "integer", "boolean", "null", "array", "object"];

function typeRule(asked: unknown, value: unknown, path: Path): Ruling {
  const types: readonly unknown[] = Array.isArray(asked) ? asked : [asked];
  if (types.length === 0 || !types.every((type) => typeof type === "string" && TYPES.includes(type)))
    return UNKNOWN;
  const own = typeOf(value);
  const fits = types.some(
    (type) => type === own || (type === "integer" && own === "number" && Number.isInteger(value)),
  );
  return fits ? NOTHING_WRONG : wrong(path, `is ${named(own)}; expected ${types.map(named).join(" or ")}`);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function named(type: unknown): string {
  const name = String(type);
  if (name === "null") return name;
  return `${/^[aio]/.test(name) ? "an" : "a"} ${name}`;
}

function isComposed(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Only the beginning of a text is read, since it may be long and be shown for each of thousands of forms. */
function shown(value: unknown): string {
  if (isComposed(value)) return named(typeOf(value));
  return typeof value === "string" && value.length > 80
    ? `${JSON.stringify(value.slice(0, 77))}...`
    : JSON.stringify(value);
}

function oneAtLeast(rulings: readonly Ruling[], path: Path): Ruling {
  if (rulings.some((each) => isDecided(each) && each.issues.length === 0)) return NOTHING_WRONG;
  if (rulings.length === 0 || rulings.some(({ issues }) => issues.length === 0)) return UNKNOWN;
  return wrong(path, `has none of the forms that are allowed${reasons(rulings)}`);
}

function exactlyOne(rulings: readonly Ruling[], path: Path): Ruling {
  const fitting = rulings.filter((each) => isDecided(each) && each.issues.length === 0).length;
  if (fitting > 1)
    return wrong(path, `has ${fitting} of the forms that are allowed; expected exactly one of them`);
  const open = rulings.filter((each) => !isDecided(each)).length;
  if (fitting === 1) return open === 0 ? NOTHING_WRONG : UNKNOWN;
  return open > 0 ? UNKNOWN : oneAtLeast(rulings, path);
}

/** Why it has none of the forms: the first reason of the first few. */
function reasons(rulings: readonly Ruling[]): string {
  const said = rulings.slice(0, 4).flatMap(({ issues: [first] }) => {
    if (first === undefined) return [];
    const at = first.path.length === 0 ? "it" : first.path.map(String).join(".");
    return [`${at} ${first.message}`];
  });
  return said.length === 0 ? "" : ` (${said.join("; or ")})`;
}
