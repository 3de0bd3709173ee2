import type { Said } from "../desk/said.ts";

/** The best of several attempts. In a tie the earlier one wins. */
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

  /** If another attempt was cut off: the best answer so far, with the reason of the cut. */
  orElse(cut: Said): Said {
    return this.said === undefined ? cut : { text: this.said.text, stopReason: cut.stopReason };
  }

  /** The best answer, marked as not having reached the threshold. */
  notGoodEnough(): Said {
    const { text = "", stopReason = "steps" } = this.said ?? {};
    return { text, stopReason: stopReason === "done" ? "steps" : stopReason };
  }
}
