const input = 'generated/openapi.json'

export default {
  fetch: {
    input,
    output: {
      target: 'generated/orval-fetch.ts',
      client: 'fetch',
      baseUrl: { runtime: 'process.env.SERVICE_URL' },
    },
  },
  zod: { input, output: { target: 'generated/orval-zod.ts', client: 'zod' } },
}
