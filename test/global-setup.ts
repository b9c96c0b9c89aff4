import { ACCOUNT, SECRET, type Service, startService, temporaryDirectory } from './support/service.ts'

const directory = temporaryDirectory()
let service: Service | undefined

/** Starts the service once for the contract suite, which only knows what SPEC_TARGETS says. */
export async function globalSetup(): Promise<void> {
  service = await startService(directory.path)
  process.env.SPEC_TARGETS = JSON.stringify([
    { name: 'sqlite', url: service.url, ...ACCOUNT, secret: SECRET },
  ])
}

export async function globalTeardown(): Promise<void> {
  await service?.stop()
  directory.remove()
}
