import { output } from '../output.ts'

/** Where log lines go: as they are, one JSON object each, or in a terminal as a person reads them. */
export async function logStream(): Promise<{ write(text: string): void }> {
  if (!process.stdout.isTTY) return { write: (text) => output.write(escapeControls(text)) }
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname' })
  return { write: (text) => output.write(escapeControls(pretty(text))) }
}

/** JSON leaves these as they are, but to terminals some of them are what ESC and another character are. */
function escapeControls(text: string): string {
  return text.replaceAll(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)
}
