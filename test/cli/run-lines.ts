import { runCommandLine } from '../../src/cli/command-line.ts'

/**
 * Runs command lines, given as JSON, one after the other, and prints as JSON how each ended. NAME=VALUE before a command
 * sets a variable for it. With INTERRUPT_AT, it is interrupted when it writes this on standard error. With SLOW, ten
 * seconds pass between two looks at the clock, so that all progress is written. With TERMINAL, it is written to one.
 */
process.setMaxListeners(0)
const { env, stdout, stderr } = process
const write = stdout.write.bind(stdout)
const ended: object[] = []
const { now } = Date
let time = now()
for (const line of JSON.parse(process.argv[2] ?? '') as string[]) {
  const words = line.split(' ')
  const variables = words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split(/=(.*)/, 2))
  process.env = { ...env, ...Object.fromEntries(variables) }
  const [out, errors]: [string[], string[]] = [[], []]
  stdout.write = (text: unknown) => out.push(String(text)) > 0
  stderr.write = (text: unknown) => {
    const { INTERRUPT_AT } = process.env
    if (INTERRUPT_AT !== undefined && String(text).includes(INTERRUPT_AT)) process.emit('SIGINT', 'SIGINT')
    return errors.push(String(text)) > 0
  }
  Date.now = process.env.SLOW === undefined ? now : () => (time += 10_000)
  stderr.isTTY = process.env.TERMINAL !== undefined
  process.exitCode = 0
  await runCommandLine(words.slice(variables.length))
  ended.push({ code: process.exitCode, stdout: out.join(''), stderr: errors.join('') })
}
process.exitCode = 0
write(JSON.stringify(ended))
