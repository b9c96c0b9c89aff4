import type { Config } from '../../config.ts'
import { stopOnSignal } from '../../http/graceful-shutdown.ts'
import { prepareService } from '../../service/prepare.ts'
import { type Command, withSettings } from '../command.ts'

/** The service, until a signal stops it. */
export const command: Command = {
  usage: 'serve',
  description:
    'Starts the service; without a command the same happens. The settings say how: docs/configuration.md.',
  operands: 0,
  options: {},
  run: (args) => withSettings('start', args, start),
}

async function start(config: Config): Promise<void> {
  const service = await prepareService(config)
  let isStarted = false
  let isStopping = false
  // Before anything says that the service is there: whoever reads that may stop it at once.
  stopOnSignal(service.log, async () => {
    isStopping = true
    await service.stop()
    // Nothing was stored yet if the store is still being opened, and waiting for it could take long.
    if (!isStarted) process.exit()
  })
  try {
    await service.start()
    isStarted = true
  } catch (error) {
    if (!isStopping) throw error
  }
}
