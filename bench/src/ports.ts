import { createServer } from 'node:net'
import { HOST } from './account.ts'

/** Below those that systems give to outgoing connections, which the load opens by the hundred. */
const FIRST = 15_000
const COUNT = 5_000

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.on('error', () => resolve(false))
    server.listen(port, HOST, () => server.close(() => resolve(true)))
  })
}
