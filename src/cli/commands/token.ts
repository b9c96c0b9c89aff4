import { Auth } from '../../auth/auth.ts'
import { OperatorError, UsageError } from '../../errors.ts'
import { type Command, withSettings } from '../command.ts'

/** Seconds of each unit of --valid-for. */
const UNITS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 24 * 3600 }

const MAX_DAYS = 3650

export const command: Command = {
  usage: 'token',
  description: `Prints a token for scripts, made with SECRET_TOKEN. Whoever has it can read and change every book until it expires.
Only a new SECRET_TOKEN ends it sooner, and this ends all tokens.

  curl http://localhost:8080/books -H "Authorization: $(book-catalogue token)"`,
  operands: 0,
  options: {
    'valid-for': {
      type: 'string',
      description: `how long, such as 90m, 12h or 30d; at most ${MAX_DAYS}d; 15m by default, as after a login`,
    },
  },
  run: (args) => {
    const text = args.values['valid-for']
    const lifetime = typeof text === 'string' ? lifetimeOf(text) : undefined
    return withSettings('make a token', args, async (config) => {
      if (config.generated.has('SECRET_TOKEN')) {
        throw new OperatorError(
          'SECRET_TOKEN is not set: the service then makes one of its own at each start; set it for both',
        )
      }
      process.stdout.write(`${await new Auth(config, config.secretToken).issue(lifetime)}\n`)
    })
  },
}

/** @returns seconds. */
function lifetimeOf(text: string): number {
  const [, count, unit = ''] = /^([1-9]\d*)([mhd])$/.exec(text) ?? []
  const seconds = Number(count) * (UNITS[unit] ?? Number.NaN)
  if (seconds <= MAX_DAYS * 24 * 3600) return seconds
  throw new UsageError(
    `--valid-for is a whole number of minutes, hours or days, such as 90m, 12h or 30d, and at most ${MAX_DAYS}d`,
  )
}
