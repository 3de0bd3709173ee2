import { ExecId, RunId, type Span } from "@ravi/kernel";
import { expect, test } from "vitest";
import { ChildSpans } from "../src/execution/child-spans.ts";

const span = (): Span => ({ setAttribute() {}, recordError() {}, end() {} });
const execId = ExecId(ExecId(RunId("r1")), "hire:clerk#1");

test("a child finds the span of its parent until the parent's attempt is over", () => {
  const [spans, over, own] = [new ChildSpans(), new AbortController(), span()];
  spans.note({ execId, span: own }, over.signal);
  expect(spans.parentOf(execId)).toBe(own);
  expect(spans.parentOf("r1/hire:other#1")).toBeUndefined();
  over.abort();
  expect(spans).toEqual(new ChildSpans());
});

test("the end of an older attempt does not take away the span of a newer one", () => {
  const [spans, older, newer, own] = [new ChildSpans(), new AbortController(), new AbortController(), span()];
  spans.note({ execId, span: span() }, older.signal);
  spans.note({ execId, span: own }, newer.signal);
  older.abort();
  expect(spans.parentOf(execId)).toBe(own);
});

test("nothing is kept without telemetry, or of an attempt that is over already", () => {
  const spans = new ChildSpans();
  spans.note({ execId, span: undefined }, new AbortController().signal);
  spans.note({ execId, span: span() }, AbortSignal.abort());
  expect(spans).toEqual(new ChildSpans());
});
