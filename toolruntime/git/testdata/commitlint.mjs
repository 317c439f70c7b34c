// Prints, for each of the messages on stdin (a JSON array), what commitlint with config-conventional says of it.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const from = createRequire(process.argv[2] + '/');
const load = (await import(pathToFileURL(from.resolve('@commitlint/load')))).default;
const lint = (await import(pathToFileURL(from.resolve('@commitlint/lint')))).default;

let text = '';
for await (const part of process.stdin) text += part;
const config = await load({ extends: ['@commitlint/config-conventional'] }, { cwd: process.argv[2] });
const verdicts = [];
for (const message of JSON.parse(text)) {
  const v = await lint(message, config.rules, {
    parserOpts: config.parserPreset?.parserOpts ?? {},
    defaultIgnores: true,
  });
  verdicts.push({ valid: v.valid, errors: v.errors.map((e) => e.name), warnings: v.warnings.map((w) => w.name) });
}
console.log(JSON.stringify(verdicts));
