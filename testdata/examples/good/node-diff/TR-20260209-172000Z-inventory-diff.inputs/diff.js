'use strict';
const fs = require('fs');

const [before, after, title] = process.argv.slice(2);
const load = (file) => new Map(JSON.parse(fs.readFileSync(file, 'utf8')).map((s) => [s.name, s]));
const old = load(before);
const now = load(after);
const lines = [];
for (const name of [...new Set([...old.keys(), ...now.keys()])].sort()) {
  const a = old.get(name);
  const b = now.get(name);
  if (!a) lines.push(`- added: ${name}`);
  else if (!b) lines.push(`- removed: ${name}`);
  else {
    const keys = Object.keys(a).filter((k) => a[k] !== b[k]).map((k) => `${k} ${a[k]} -> ${b[k]}`);
    if (keys.length) lines.push(`- changed: ${name} (${keys.join(', ')})`);
  }
}
fs.writeFileSync('/out/changes.md', `${title}\n\n${lines.join('\n')}\n`);
console.log(`${lines.length} changes`);
