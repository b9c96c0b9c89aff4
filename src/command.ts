import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type Config, ConfigError, readConfig } from './config.ts'

/** A reason to end that the operator can do something about. The message is complete, and without secrets. */
export class OperatorError extends Error {}

/** Runs a command with the settings; an OperatorError ends it with its message and exit code 1. */
export async function runCommand(name: string, command: (config: Config) => Promise<void>): Promise<void> {
  try {
    await command(loadConfig())
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    process.stderr.write(`Cannot ${name}: ${error.message}\n`)
    process.exitCode = 1
  }
}

/** Settings of the environment come before those of a `.env` file in the working directory. */
function loadConfig(): Config {
  try {
    return readConfig({ ...readEnvFile(), ...process.env })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new OperatorError(error.faults.join('\n  '))
  }
}

function readEnvFile(): NodeJS.Dict<string> {
  try {
    // Some editors begin a file with a byte order mark, which would become part of the first name.
    return parseEnv(readFileSync('.env', 'utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new OperatorError(`the file .env cannot be read: ${message}`)
  }
}
