process.on('SIGTERM', () => {});
for (;;);
