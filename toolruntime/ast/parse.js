// Says of each file, in a line of JSON, whether it is JavaScript (a module or not) or TypeScript. It runs nothing of it.
const fs = require("fs"), vm = require("vm"), mod = require("module");
const params = ["exports", "require", "module", "__filename", "__dirname"];

function check(name) {
  let text = fs.readFileSync(name, "utf8").replace(/^\uFEFF/, "").replace(/^#!/, "//");
  if (name.endsWith(".ts")) {
    if (!mod.stripTypeScriptTypes) return;
    try {
      mod.stripTypeScriptTypes(text);
    } catch (e) {
      if (e.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") return;
      throw e;
    }
    return;
  }
  try {
    vm.compileFunction(text, params, { filename: "file" });
  } catch (e) {
    try {
      new vm.SourceTextModule(text, { identifier: "file" });
    } catch (m) {
      throw /^\s*(import|export)\b/m.test(text) ? m : e;
    }
  }
}

for (const name of process.argv.slice(1)) {
  let said = {};
  try {
    check(name);
  } catch (e) {
    const at = /^(?:file)?:(\d+)/.exec(e.stack || "");
    said = { line: at ? +at[1] : 0, message: String(e.message || e).split("\n")[0] || "it is no JavaScript" };
  }
  process.stdout.write(JSON.stringify(said) + "\n");
}
