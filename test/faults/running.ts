import { type Service, startService } from '../support/service.ts'

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** Starts the service in the directory, and kills it when it has been used, or when this process ends before. */
export async function whileRunning(
  directory: string,
  nodeOptions: string[],
  use: (service: Service) => Promise<void>,
): Promise<void> {
  const service = await startService(directory, {}, nodeOptions)
  const kill = () => service.process.kill('SIGKILL')
  // Before what else there is to clean up, such as the disk that it uses.
  process.prependListener('exit', kill)
  try {
    await use(service)
  } finally {
    await service.stop('SIGKILL')
    process.removeListener('exit', kill)
  }
}
