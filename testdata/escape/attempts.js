// Attempts of a javascript program to get out. See README.md.
'use strict';
const fs = require('fs');
const os = require('os');
const net = require('net');
const dns = require('dns');
const dgram = require('dgram');
const http = require('http');
const path = require('path');
const child = require('child_process');

let tried = 0;
const say = (name, got, want) => { tried++; console.log(`${name} | ${got} | ${want}`); };
const word = (e) => e.code || e.name || String(e);

function attempt(name, want, f) {
  let got = 'POSSIBLE';
  try { f(); } catch (e) { got = word(e); }
  say(name, got, want);
}

function eventually(name, want, start) {
  return new Promise((resolve) => {
    let over = false;
    const end = (got) => { if (!over) { over = true; say(name, got, want); resolve(); } };
    setTimeout(() => end('timeout'), 5000).unref();
    try { start((e) => end(e ? word(e) : 'POSSIBLE')); } catch (e) { end(word(e)); }
  });
}

const write = (p) => {
  const fd = fs.openSync(p, 'r+');
  const isNull = fs.fstatSync(fd).rdev === 0x103; // a file that the kernel has is masked by it
  fs.closeSync(fd);
  if (isNull) throw { code: 'EACCES' };
};
for (const [name, p, want] of [
  ['core-pattern', '/proc/sys/kernel/core_pattern', 'EROFS|EACCES'],
  ['sysrq', '/proc/sysrq-trigger', 'ENOENT|EACCES|EROFS'],
  ['release-agent', '/sys/fs/cgroup/memory/release_agent', 'ENOENT'],
  ['own-program', '/proc/self/exe', 'EROFS|ETXTBSY|EACCES'],
  ['init-program', '/gate-init', 'EROFS|ETXTBSY|EACCES'],
  ['init-memory', '/proc/1/mem', 'ENOENT|EACCES'],
  ['gate-job', '/gate/job.json', 'EACCES'],
  ['passwd', '/etc/passwd', 'EROFS|EACCES'],
  ['interpreter', process.execPath, 'EROFS|EACCES|ETXTBSY'],
  ['memory-device', '/dev/mem', 'ENOENT'],
  ['input', '/in/script.js', 'EROFS|EACCES'],
]) attempt('write-' + name, want, () => write(p));

attempt('oom-score', 'EACCES|EPERM', () => fs.writeFileSync('/proc/self/oom_score_adj', '-1000'));
attempt('list-gate', 'EACCES', () => fs.readdirSync('/gate'));
attempt('list-init', 'ENOENT|EACCES', () => fs.readdirSync('/proc/1/fd'));
attempt('environ-of-init', 'ENOENT|EACCES', () => fs.readFileSync('/proc/1/environ'));
attempt('kcore', 'ENOENT|EACCES|empty', () => { if (!fs.readFileSync('/proc/kcore').length) throw { code: 'empty' }; });
attempt('hardlink-root', 'EXDEV|EROFS|EPERM', () => fs.linkSync('/etc/passwd', '/out/passwd'));
attempt('hardlink-input', 'EXDEV|EROFS|EPERM', () => fs.linkSync('/in/script.js', '/out/in'));
attempt('rename-input', 'EXDEV|EROFS|EPERM', () => fs.renameSync('/in/script.js', '/out/in'));
attempt('chdir-gate', 'EACCES', () => process.chdir('/gate'));
attempt('setuid', 'EPERM', () => process.setuid(0));
attempt('setgid', 'EPERM', () => process.setgid(0));
attempt('setgroups', 'EPERM', () => process.setgroups([0]));
attempt('kill-init', 'EPERM', () => process.kill(1, 'SIGKILL'));
attempt('debug-init', 'EPERM|ENOENT|ERR_INVALID_ARG_TYPE|Error', () => process._debugProcess(1));
attempt('priority', 'EACCES|EPERM|ERR_SYSTEM_ERROR', () => os.setPriority(-20));
attempt('addon-from-tmp', 'ERR_DLOPEN_FAILED', () => {
  fs.copyFileSync(process.execPath, '/tmp/x.node');
  process.dlopen({ exports: {} }, '/tmp/x.node');
});
const run = (p, args) => { const r = child.spawnSync(p, args || []); if (r.error) throw r.error; };
attempt('exec-tmp', 'EACCES', () => { fs.copyFileSync(process.execPath, '/tmp/p'); fs.chmodSync('/tmp/p', 0o755); run('/tmp/p', ['-v']); });
attempt('exec-out', 'EACCES', () => { fs.copyFileSync(process.execPath, '/out/p'); fs.chmodSync('/out/p', 0o6755); run('/out/p', ['-v']); });
attempt('shell', 'ENOENT', () => run('/bin/sh'));
attempt('sudo', 'ENOENT', () => run('sudo'));
attempt('descriptors', 'none', () => {
  for (const n of fs.readdirSync('/proc/self/fd')) {
    let to = '';
    try { to = fs.readlinkSync('/proc/self/fd/' + n); } catch (e) { continue; }
    if (Number(n) > 2 && !/^(anon_inode|pipe):|\/fd$|^\/dev\/null$/.test(to)) return;
  }
  throw { code: 'none' };
});
attempt('processes-of-others', 'none', () => {
  for (const n of fs.readdirSync('/proc')) {
    if (/^\d+$/.test(n) && fs.statSync('/proc/' + n).uid !== process.getuid()) return;
  }
  throw { code: 'none' };
});

(async () => {
  await eventually('tcp', 'EAFNOSUPPORT', (end) => net.connect(22, '127.0.0.1').on('connect', () => end()).on('error', end));
  await eventually('tcp6', 'EAFNOSUPPORT', (end) => net.connect(22, '::1').on('connect', () => end()).on('error', end));
  await eventually('listen', 'EAFNOSUPPORT', (end) => net.createServer().on('error', end).listen(8080, '127.0.0.1', () => end()));
  await eventually('metadata', 'EAFNOSUPPORT', (end) => http.get('http://169.254.169.254/', () => end()).on('error', end));
  await eventually('udp', 'EAFNOSUPPORT|Error', (end) => dgram.createSocket('udp4').on('error', end).send('x', 53, '1.1.1.1', end));
  await eventually('lookup', 'EAI_AGAIN|ENOTFOUND|EAI_SYSTEM|EAFNOSUPPORT', (end) => dns.lookup('example.com', end));
  await eventually('resolve', 'ECONNREFUSED|ESERVFAIL|ETIMEOUT|EREFUSED', (end) => new dns.Resolver({ timeout: 300, tries: 1 }).resolve4('example.com', end));
  await eventually('unix-containerd', 'ENOENT', (end) => net.connect('/run/containerd/containerd.sock').on('connect', () => end()).on('error', end));
  await eventually('unix-abstract', 'ECONNREFUSED|ENOENT', (end) => net.connect('\0threegate-escape-test').on('connect', () => end()).on('error', end));
  console.log(`tried | ${tried} | ${tried}`);
  process.exit(0);
})();
