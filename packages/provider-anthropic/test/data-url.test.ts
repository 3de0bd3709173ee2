import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { readDataUrl } from "../src/request/data-url.ts";

test.each([
  "",
  "QUJD",
  "QQ==",
  "QQ",
  "QQ=",
  "Q",
  "QUJDR",
  "QR==",
  "QUJ=",
  "QUJD\r\nREVG",
  " QUJD ",
  "QUJ DRA",
  "_-8=",
  "-_8",
  "QQ==QUJD",
  "QUJD=.",
  "Q.U%JéD",
  "77u/YQ==",
  "7/8A4oI=",
  "8J+Y",
])("base64 is read as Node reads it, however it is written: %j", (body) => {
  const read = readDataUrl(`data:text/plain;base64,${body}`);
  const bytes = Buffer.from(body, "base64");
  expect(read?.base64()).toBe(bytes.toString("base64"));
  expect(read?.text()).toBe(bytes.toString("utf8"));
});

test.each(["", "a b", "caf%C3%A9", "100%", "%ff", "\ud800!", "%EF%BB%BFa"])(
  "what is not base64 is text, percent-encoded or not: %j",
  (body) => {
    const read = readDataUrl(`data:text/plain,${body}`);
    const isEncoded = !/%(?![0-9a-e])/i.test(body);
    const text = (isEncoded ? decodeURIComponent(body) : body).toWellFormed();
    expect(read?.text()).toBe(text);
    expect(read?.base64()).toBe(Buffer.from(text, "utf8").toString("base64"));
  },
);
