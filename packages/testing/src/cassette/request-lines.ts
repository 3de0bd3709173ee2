import type { ChatMessage, ModelRequest } from "@ravi/kernel";

/** A line of a request, and its place in the request. */
export interface RequestLine {
  readonly path: string;
  readonly text: string;
}

/** A request as lines that a person can compare: texts line by line, everything else as short JSON. */
export function requestLines(request: ModelRequest): readonly RequestLine[] {
  const { messages, tools = [], ...settings } = request;
  return [
    ...messages.flatMap((message, index) => messageLines(message, `messages[${index}] ${message.role}`)),
    ...tools.flatMap(({ name, description, parameters }) => [
      ...textLines(`tools ${name}`, description),
      { path: `tools ${name}`, text: JSON.stringify(parameters) },
    ]),
    ...Object.entries(settings).map(([path, value]) => ({ path, text: `${path}: ${JSON.stringify(value)}` })),
  ];
}

function messageLines(message: ChatMessage, path: string): readonly RequestLine[] {
  const { role: _role, content, ...rest } = message;
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return [
    ...parts.flatMap((part) =>
      part.type === "text" ? textLines(path, part.text) : [{ path, text: JSON.stringify(part) }],
    ),
    ...Object.entries(rest).flatMap(([key, value]) => {
      const values = Array.isArray(value) ? (value as readonly unknown[]) : [value];
      return values.map((each) => ({ path, text: `${key}: ${JSON.stringify(each)}` }));
    }),
  ];
}

function textLines(path: string, text: string): readonly RequestLine[] {
  return text.split("\n").map((line) => ({ path, text: line }));
}
