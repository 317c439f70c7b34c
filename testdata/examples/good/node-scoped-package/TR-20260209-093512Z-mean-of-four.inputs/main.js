// A package of npm with a scope, and settings in a file whose name begins with a dot, as tools have them.
const fs = require("fs");
const { mean } = require("@acme/figures");

const settings = JSON.parse(fs.readFileSync(".report.json", "utf8"));
const numbers = fs.readFileSync("/in/data/.numbers", "utf8").trim().split("\n").map(Number);
const line = `${settings.label}: ${mean(numbers).toFixed(settings.digits)}\n`;
fs.writeFileSync("/out/report.txt", line);
process.stdout.write(line);
