// What `npm test` tries less often.
process.env.MODEL_RUNS ??= '50'
await import('./model.test.ts')
