import { Auth } from '../../auth/auth.ts'
import { OperatorError } from '../../errors.ts'
import { type Command, withSettings } from '../command.ts'

export const command: Command = {
  usage: 'token',
  description: `Prints a token for scripts, made with SECRET_TOKEN; it is valid for 15 minutes.

  curl http://localhost:8080/books -H "Authorization: $(book-catalogue token)"`,
  operands: 0,
  options: {},
  run: (args) =>
    withSettings('make a token', args, async (config) => {
      if (config.generated.has('SECRET_TOKEN')) {
        throw new OperatorError(
          'SECRET_TOKEN is not set: the service then makes one of its own at each start; set it for both',
        )
      }
      process.stdout.write(`${await new Auth(config, config.secretToken).issue()}\n`)
    }),
}
