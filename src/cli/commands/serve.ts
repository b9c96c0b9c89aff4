import type { Config } from '../../config.ts'
import { stopOnSignal } from '../../http/graceful-shutdown.ts'
import { prepareService } from '../../service/prepare.ts'
import { type Command, withSettings } from '../command.ts'

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
  // Registered before the service announces itself: whoever reads the announcement may send a signal at once.
  stopOnSignal(service.log, async () => {
    isStopping = true
    await service.stop()
    // While the store is still being opened, nothing has been stored, and waiting for it could take long.
    if (!isStarted) process.exit()
  })
  try {
    await service.start()
    isStarted = true
  } catch (error) {
    if (!isStopping) throw error
  }
}
