import { createServer } from 'node:net'

/**
 * A port that nothing listens on, on any of these addresses; by default on 127.0.0.1. It is below those that systems
 * give to outgoing connections, so that none takes it while the server is stopped.
 */
export async function freePort(...hosts: string[]): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const free = await Promise.all(
      (hosts.length > 0 ? hosts : ['127.0.0.1']).map((host) => isFree(port, host)),
    )
    if (!free.includes(false)) return port
  }
}

function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.on('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}
