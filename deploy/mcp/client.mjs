// Lists and calls every tool with the client of the TypeScript SDK, over stdio or HTTP.
//
//   node client.mjs stdio PROGRAM ARGS...
//   node client.mjs http URL TOKEN
//
// The calls come as JSON on stdin: {"tool": {arguments}, ...}; what each answers is printed as
// JSON. Each answer is compared with the tool's output schema by the client.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(process.cwd() + "/");
const load = (name) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + name)).href);
const { Client } = await load("client/index.js");
const [kind, target, ...rest] = process.argv.slice(2);
const calls = JSON.parse(readFileSync(0, "utf8"));

let transport;
if (kind === "stdio") {
  const { StdioClientTransport } = await load("client/stdio.js");
  transport = new StdioClientTransport({ command: target, args: rest, env: process.env });
} else {
  const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
  transport = new StreamableHTTPClientTransport(new URL(target), {
    requestInit: { headers: { Authorization: "Bearer " + rest[0] } },
  });
}

const client = new Client({ name: "threegate-test", version: "1" });
await client.connect(transport);
const listed = (await client.listTools()).tools;
const answers = {};
for (const tool of listed) {
  if (!(tool.name in calls)) throw new Error("no call of " + tool.name);
  const result = await client.callTool({ name: tool.name, arguments: calls[tool.name] });
  if (result.isError || !result.structuredContent) throw new Error(tool.name + ": " + JSON.stringify(result));
  answers[tool.name] = result.structuredContent;
}
await client.listPrompts();
const { resources } = await client.listResources();
for (const r of resources) await client.readResource({ uri: r.uri });
await client.ping();
await client.close();
console.log(JSON.stringify({ capabilities: client.getServerCapabilities() ?? {}, answers }));
