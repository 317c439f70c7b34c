// A reporter of node --test: what came of each test, as a line of JSON.
export default async function* report(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const aside = data.skip !== undefined || data.todo !== undefined;
    const line = { name: data.name, verdict: aside ? 'skip' : type === 'test:pass' ? 'pass' : 'fail' };
    if (line.verdict === 'fail') {
      const error = data.details?.error;
      line.message = String(error?.cause?.message ?? error?.message ?? '');
      line.path = data.file ?? '';
      line.line = data.line ?? 0;
    }
    yield JSON.stringify(line) + '\n';
  }
}
