import { resolve } from 'node:path'
import { type Config, DEFAULT_DB_URL, readConfig } from '../../config.ts'
import { isExecutable } from '../../resources.ts'
import { type Command, reportFaults, settingsPath } from '../command.ts'
import { writeNewFile } from '../output-file.ts'

/** The command that starts the service: from the executable, from a clone, or from the npm package. */
const START = isExecutable
  ? process.argv0
  : import.meta.filename.endsWith('.ts')
    ? 'npm start'
    : process.env.npm_command === 'exec'
      ? 'the same command without init'
      : 'book-catalogue'

export const command: Command = {
  usage: 'init',
  description: `Writes a new file .env in this directory, with a secret and a password that are made up, and the default DB_URL. Only
you can read the file. With --settings FILE, the file is another one.`,
  operands: 0,
  options: {},
  run: (args) => reportFaults('write the settings', () => init(settingsPath(args))),
}

async function init(path: string): Promise<void> {
  // Absolute, because - would be standard output.
  await writeNewFile(resolve(path), [settings(readConfig({}))])
  const start = path === '.env' ? `in this directory: ${START}` : `with --settings ${path}`
  process.stdout.write(
    `${path} has a new SECRET_TOKEN and a new PASSWORD. Look through it, then start the service ${start}\n`,
  )
}

/** Only the settings that a new installation should fix in a file. The others have good defaults. */
function settings({ secretToken, username, password }: Config): string {
  return `# Settings of the Book Catalogue Service, one NAME=value each line. docs/configuration.md has all of them.

# Where the books are: a file, whose path is relative to the working directory unless it begins with a slash,
# or a server (postgres://user:password@host/database, mysql://user:password@host/database).
DB_URL=${DEFAULT_DB_URL}

# The only account.
USERNAME=${username}
PASSWORD=${password}

# Signs the tokens. Whoever knows it can make tokens. With another one, everybody has to log in again.
SECRET_TOKEN=${secretToken}
`
}
