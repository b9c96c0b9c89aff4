import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, it } from 'node:test'
import { promisify } from 'node:util'
import { type Ended, withoutStores } from '../support/command.ts'
import { INHERITED, PATIENT } from '../support/service.ts'

export const COMMANDS = readdirSync(join(import.meta.dirname, '../../src/cli/commands')).map((name) =>
  name.slice(0, -3),
)

/**
 * Runs command lines one after the other in one process, which saves the start of many.
 * @param wrapper a command that becomes the one that is put behind it.
 * @returns how each ended.
 */
export async function runAll(
  cwd: string,
  lines: readonly string[],
  settings = {},
  wrapper: readonly string[] = [],
): Promise<Ended[]> {
  const options = { cwd, env: { ...INHERITED, STORE_TIMEOUT: PATIENT, ...settings }, maxBuffer: 2 ** 28 }
  const script = join(import.meta.dirname, 'run-lines.ts')
  const [file = '', ...args] = [...wrapper, process.execPath, script, JSON.stringify(lines)]
  return JSON.parse((await promisify(execFile)(file, args, options)).stdout)
}

/**
 * Checks that a command line has written this, with `! ` before each line of standard error. … is anything in a line,
 * and a line of … any lines. Stores that a command names, and the reference to the help, are left out.
 */
export function assertWritten(ended: Ended | undefined, line: string, expected: string): void {
  assert.ok(ended !== undefined)
  const [said = '', help] = withoutStores(ended.stderr).split(/^See: /m)
  const errors = said.replaceAll(/^(?=.)/gm, '! ')
  const patterns = expected
    .split('\n')
    .map((each) => (each === '…' ? '[^]*' : RegExp.escape(each).replaceAll('…', '.*')))
  const written = (ended.stdout.replaceAll('\r\n', '\n') + errors).trimEnd()
  assert.match(written, new RegExp(`^${patterns.join('\n')}$`))
  // 1 if it could not do its work, 2 for wrong usage.
  const code = /^Cannot /m.test(said) ? 1 : said.startsWith('book-catalogue: ') ? 2 : 0
  assert.equal(ended.code, code)
  const name = COMMANDS.find((name) => `${line} `.startsWith(`${name} `))
  assert.equal(help, code === 2 ? `book-catalogue ${name ? `${name} ` : ''}--help\n` : undefined)
}

/** To be called in a `describe`: runs the lines that begin with $ in a directory, and checks what each writes. */
export function followTranscript(transcript: string, cwd: () => string, settings = {}): void {
  const steps = transcript.trim().split(/^\$ /m).slice(1)
  const lines = steps.map((step) => step.split('\n', 1)[0] ?? '')
  let all: Ended[] = []
  before(async () => {
    all = await runAll(cwd(), lines, settings)
  })
  for (const [i, line] of lines.entries())
    it(line, () => assertWritten(all[i], line, steps[i]?.slice(line.length + 1).trimEnd() ?? ''))
}
