import { output } from './output.ts'

/** Where log lines go: as they are, one JSON object each, or in a terminal as a person reads them. */
export async function logStream(): Promise<{ write(text: string): void }> {
  if (!process.stdout.isTTY) return output
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname' })
  return { write: (text) => output.write(pretty(text)) }
}
