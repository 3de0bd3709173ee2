import { InvalidValueError, type ModelInfo } from "@ravi/kernel";

/** One entry for each model. Most questions are about the same model as the last one; that saves building the key and the lookup. */
export class ByModel<T extends Pick<ModelInfo, "provider" | "model">> {
  private readonly entries = new Map<string, T>();
  private readonly make: (info: ModelInfo) => T;
  private latest: T | undefined;

  /** `make` makes the entry of a model when it is first asked for. */
  constructor(make: (info: ModelInfo) => T) {
    this.make = make;
  }

  get(info: ModelInfo): T {
    if (typeof info !== "object" || info === null) throw invalidInfo(info);
    const { provider, model } = info;
    const { latest } = this;
    if (latest !== undefined && latest.model === model && latest.provider === provider) return latest;
    if (typeof provider !== "string" || typeof model !== "string") throw invalidInfo(info);
    const key = `${provider}\n${model}`;
    let entry = this.entries.get(key);
    if (entry === undefined) {
      entry = this.make(info);
      this.entries.set(key, entry);
    }
    return (this.latest = entry);
  }
}

function invalidInfo(value: unknown): InvalidValueError {
  const expected = "the info of a model: { provider, model }, both strings";
  return new InvalidValueError({ field: "info", value, expected });
}
