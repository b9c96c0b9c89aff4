import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { UsageError } from '../errors.ts'
import type { Command } from './command.ts'

const NAME = 'book-catalogue'

/** The summary and the module of each command. Only the module that runs is loaded, so that the service starts fast. */
const COMMANDS: Record<
  string,
  readonly [summary: string, load: () => Promise<{ readonly command: Command }>]
> = {
  serve: ['start the service (this is what happens without a command)', () => import('./commands/serve.ts')],
  init: ['write a file of settings, with a new secret and password', () => import('./commands/init.ts')],
  import: ['add the books of a CSV, NDJSON or JSON file', () => import('./commands/import.ts')],
  export: ['write all books to a file, as CSV or NDJSON', () => import('./commands/export.ts')],
  backup: ['copy the SQLite database into a new file', () => import('./commands/backup.ts')],
  restore: ['put a backup in the place of the SQLite database', () => import('./commands/restore.ts')],
  copy: ['copy all books from one store to another', () => import('./commands/copy.ts')],
  token: ['print a token for scripts', () => import('./commands/token.ts')],
  check: ['check the settings and the store, and end', () => import('./commands/check.ts')],
}

const COMMON: ParseArgsOptionsConfig = {
  help: { type: 'boolean', short: 'h' },
  settings: { type: 'string' },
}

/** Exit code 1 is a problem that the operator can solve, 2 is wrong usage. Both come with a message on stderr. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  const [first = 'serve'] = args
  if (['--help', '-h', 'help'].includes(first)) {
    process.stdout.write(overview())
    return
  }
  if (['--version', '-v'].includes(first)) {
    process.stdout.write(`${packageJson.version}\n`)
    return
  }
  // Options without a command are those of the service.
  const [name, rest] = first.startsWith('-') ? ['serve', [...args]] : [first, args.slice(1)]
  try {
    const [, load] = (Object.hasOwn(COMMANDS, name) && COMMANDS[name]) || []
    if (load === undefined) {
      throw new UsageError(`there is no command ${JSON.stringify(name)}`)
    }
    await run(name, (await load()).command, rest)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const help = Object.hasOwn(COMMANDS, name) ? `${NAME} ${name} --help` : `${NAME} --help`
    process.stderr.write(`${NAME}: ${error.message}\nSee: ${help}\n`)
    process.exitCode = 2
  }
}

async function run(name: string, command: Command, args: string[]): Promise<void> {
  const { values, positionals } = parse(command, args)
  if (values.help === true) {
    process.stdout.write(help(command))
    return
  }
  if (positionals.length !== command.operands) {
    const expected = command.operands === 0 ? 'takes no argument' : 'takes one argument'
    throw new UsageError(`${name} ${expected}, and got ${positionals.length}`)
  }
  await command.run({ values, operand: positionals[0] ?? '' })
}

function parse(
  { options }: Command,
  args: string[],
): { values: Readonly<Record<string, unknown>>; positionals: string[] } {
  try {
    const described = Object.entries(options).map(([name, { description: _, ...option }]) => [name, option])
    return parseArgs({
      args,
      options: { ...Object.fromEntries(described), ...COMMON },
      allowPositionals: true,
      allowNegative: true,
    })
  } catch (error) {
    // Node's messages are meant for users. Some end with a sentence of advice, which is left out.
    throw new UsageError((error as Error).message.split('. ')[0] ?? '', { cause: error })
  }
}

function overview(): string {
  const commands = Object.entries(COMMANDS).map(([name, [summary]]) => `  ${name.padEnd(8)} ${summary}\n`)
  return `Usage: ${NAME} [COMMAND]

${commands.join('')}
${NAME} COMMAND --help shows more about a command, and ${NAME} --version the version.
The settings come from the environment and from a file: .env in the working directory, or the one that every command
takes as --settings FILE.
`
}

function help({ usage, description, options }: Command): string {
  const lines = Object.entries(options).map(
    ([name, { type, description }]) =>
      `  ${`--${name}${type === 'string' ? ' VALUE' : ''}`.padEnd(18)} ${description}\n`,
  )
  return `Usage: ${NAME} ${usage}\n\n${description}\n${lines.length > 0 ? `\n${lines.join('')}` : ''}`
}
