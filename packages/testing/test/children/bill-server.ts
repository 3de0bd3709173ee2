// A server in a process of its own, to be killed. Prints its port; the answers take turns in how long they take.
import { loopbackOpenAI } from "@ravi/testing";

const server = await loopbackOpenAI({
  script: (_, { index }) => ({ text: `answer ${index}`, delayMs: index % 3, chunkDelayMs: index % 2 }),
  billFile: process.argv[2],
});
process.stdout.write(`${server.url}\n`);
