// npm run test:differential: sends 5,000 random sequences of requests to all engines, and compares their responses.
process.env.DIFFERENTIAL_RUNS ??= '5000'
await import('./differential.long.ts')

export {}
