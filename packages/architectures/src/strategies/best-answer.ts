import type { Answer } from "../run/answer.ts";

/** The best of several attempts. In a tie the earlier one wins. */
export class BestAnswer {
  score = -1;
  private answer: Answer | undefined;

  get text(): string | undefined {
    return this.answer?.text;
  }

  offer(answer: Answer, score: number): void {
    if (score <= this.score || answer.text.trim() === "") return;
    this.answer = answer;
    this.score = score;
  }

  /** If another attempt was cut off: the best answer so far, with the reason of the cut. */
  orElse(cut: Answer): Answer {
    return this.answer === undefined ? cut : { ...cut, text: this.answer.text };
  }

  /** The best answer, marked as not having reached the threshold. */
  notGoodEnough(): Answer {
    const { text = "", stopReason = "steps", problem } = this.answer ?? {};
    return { text, stopReason: stopReason === "done" ? "steps" : stopReason, problem };
  }
}
