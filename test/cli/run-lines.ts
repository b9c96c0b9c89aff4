import { runCommandLine } from '../../src/cli/command-line.ts'

/**
 * Runs command lines, given as JSON, one after the other, and prints as JSON how each ended. With INTERRUPT_AT, they are
 * interrupted when they write this on standard error.
 */
process.setMaxListeners(0)
const { INTERRUPT_AT = '' } = process.env
const { stdout, stderr } = process
const write = stdout.write.bind(stdout)
const ended: object[] = []
for (const args of JSON.parse(process.argv[2] ?? '') as string[][]) {
  const [out, errors]: [string[], string[]] = [[], []]
  stdout.write = (text: unknown) => out.push(String(text)) > 0
  stderr.write = (text: unknown) => {
    if (INTERRUPT_AT !== '' && String(text).includes(INTERRUPT_AT)) process.emit('SIGINT', 'SIGINT')
    return errors.push(String(text)) > 0
  }
  process.exitCode = 0
  await runCommandLine(args)
  ended.push({ code: process.exitCode, stdout: out.join(''), stderr: errors.join('') })
}
process.exitCode = 0
write(JSON.stringify(ended))
