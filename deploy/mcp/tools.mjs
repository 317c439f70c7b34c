// Lists the tools of threegate-tools and calls them with the client of the TypeScript SDK.
//
//   node tools.mjs PROGRAM ARGS...
//
// Calls come as JSON on stdin: [[TOOL, ARGUMENTS], ...]. What came of each is printed as JSON: whether it is an
// error, and its structured content, which the client compares with the tool's output schema. Then a call that
// would last is cancelled when its progress says that it has begun.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.cwd() + "/");
const load = (name) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + name)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { AjvJsonSchemaValidator } = await load("validation/ajv-provider.js");
const [command, ...args] = process.argv.slice(2);

const client = new Client({ name: "threegate-test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools();
const schemas = new AjvJsonSchemaValidator();
for (const t of tools) {
  schemas.getValidator(t.inputSchema);
  schemas.getValidator(t.outputSchema);
}
const answers = [];
for (const [name, args] of JSON.parse(readFileSync(0, "utf8"))) {
  const result = await client.callTool({ name, arguments: args });
  answers.push({ error: !!result.isError, content: result.structuredContent });
}
const giveUp = new AbortController();
const slow = client.callTool({ name: "shell_exec", arguments: { cmd: "sleep 600" } }, undefined,
  { signal: giveUp.signal, onprogress: () => giveUp.abort(), timeout: 600_000 }).then(() => "answered", () => "cancelled");
const cancelled = await slow;
await client.ping();
await client.close();
console.log(JSON.stringify({ tools: tools.map((t) => ({ name: t.name, ...t.annotations })), answers, cancelled }));
