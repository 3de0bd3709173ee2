import { callers } from "./bench-agents.ts";
import { compose } from "./compose.ts";
import { meter } from "./team.ts";

// A worker process of the benchmark: node src/bench-worker.ts <ingress> <admin>

const { caller, lead } = callers();
const [ingress = "", admin = ""] = process.argv.slice(2);
const runtime = compose({ ingress, admin, agents: [caller, lead], meter });
const { port } = await runtime.listen({ host: "127.0.0.1", port: 0 });
process.send?.(port);
process.on("disconnect", () => process.exit(0));
