import type { Said } from "../desk/said.ts";

/** The best of several attempts. Among equals the earlier one stays. */
export class Best {
  score = -1;
  private said: Said | undefined;

  get text(): string | undefined {
    return this.said?.text;
  }

  offer(said: Said, score: number): void {
    if (score <= this.score || said.text.trim() === "") return;
    this.said = said;
    this.score = score;
  }

  /** For when another attempt was cut off: the best one stands, and the cut is told. */
  orElse(cut: Said): Said {
    return this.said === undefined ? cut : { text: this.said.text, stopReason: cut.stopReason };
  }

  /** The best one, with the word that it did not reach what was asked for. */
  notGoodEnough(): Said {
    const { text = "", stopReason = "steps" } = this.said ?? {};
    return { text, stopReason: stopReason === "done" ? "steps" : stopReason };
  }
}
