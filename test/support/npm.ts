import { spawn, spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { signalAll } from './process-tree.ts'
import { findCommand } from './program.ts'
import { follow, SETTINGS, untilListening } from './service.ts'

export const ROOT = join(import.meta.dirname, '../..')

/** How long a command may take: many times what it takes; in milliseconds. */
const COMMAND_TIME = 900_000

/**
 * The variables of this process, without what would make a test run that it starts take part in this one, or keep npm
 * from warning, as `npm run --silent` does.
 */
const { NODE_TEST_CONTEXT: _ofThisRun, npm_config_loglevel: _silent, ...environment } = process.env

/** @returns all that it wrote. @throws Error with that, if it fails or takes too long. */
export function run(
  file: string,
  args: readonly string[],
  { cwd = ROOT, env = environment }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const options = { cwd, env, encoding: 'utf8', timeout: COMMAND_TIME } as const
  const { error, status, stdout, stderr } = spawnSync(file, args, options)
  const output = `${stdout}${stderr}`
  if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? status}\n${output}`)
  return output
}

/**
 * A version of npm on a version of Node.js.
 * @param cli its `npm-cli.js`.
 * @param cwd with the package that it is for.
 */
export function npmOf(cli: string, node: string, cwd: string) {
  const optionsWith = (variables: Record<string, string>) => {
    const path = [dirname(node), environment.PATH].join(delimiter)
    return { cwd, env: { ...environment, ...variables, PATH: path } }
  }
  return {
    node,
    cli,
    run: (args: readonly string[], variables: Record<string, string> = {}) =>
      run(node, [cli, ...args], optionsWith(variables)),
    /**
     * Runs `npm start` until its service listens on a free port, with the account of the tests.
     * @param variables beside those for that.
     * @param args another command of npm that starts the service.
     */
    start: (variables: Record<string, string> = {}, args: readonly string[] = ['start']) =>
      startProgram(node, [cli, ...args], optionsWith(variables)),
  }
}

/**
 * The npm that runs the tests, or else the one of PATH.
 * @param directory with the package that it is for.
 */
export function ownNpm(directory = ROOT) {
  const { npm_execpath: running, npm_node_execpath: node = process.execPath } = process.env
  if (running?.endsWith('npm-cli.js')) return npmOf(running, node, directory)
  const found = findCommand(['npm'])
  if (found === undefined) throw new Error('there is no npm')
  return npmOf(realpathSync(found), process.execPath, directory)
}

/**
 * Starts a program that is or starts the service, with the account of the tests, and waits until it listens. It has ended
 * when all of its processes have; those that are left are killed with the scope.
 */
export async function startProgram(
  file: string,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
) {
  // As the leader of a group, so that all processes can be killed whatever has become of it.
  const program = spawn(file, args, {
    cwd,
    env: { ...SETTINGS, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { output, closed: ended } = follow(program)
  const kill = async () => {
    if (program.pid !== undefined) signalAll([-program.pid], 'SIGKILL')
    await ended
  }
  try {
    const url = await untilListening(program, output)
    return { url, process: program, output, ended, [Symbol.asyncDispose]: kill }
  } catch (error) {
    await kill()
    throw error
  }
}
