import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { processTree, running, signalAll } from './process-tree.ts'
import type { ServerDirectory } from './server-directory.ts'
import { until } from './until.ts'

export interface ServerCommand {
  readonly file: string
  readonly args: readonly string[]
  /** What it says in its log when it takes connections. */
  readonly ready: RegExp
  /** The server's own, removed with it. */
  readonly directory: ServerDirectory
  /** What ends it at once, with all of its processes, and leaves nothing behind in the system; by default SIGKILL. */
  readonly quit?: 'SIGQUIT'
  /** Environment variables beside those of this process, or instead of them. */
  readonly env?: Readonly<Record<string, string>>
}

/** A server as a process with its children, which end with this process whatever becomes of it. */
export class ServerProcess {
  readonly #command: ServerCommand
  readonly #logFile: string
  #child: ChildProcess | undefined

  /** @throws as `start`. */
  static async started(command: ServerCommand): Promise<ServerProcess> {
    const server = new ServerProcess(command)
    await server.start()
    return server
  }

  constructor(command: ServerCommand) {
    this.#command = command
    this.#logFile = command.directory.join('server.log')
  }

  log(): string {
    return readFileSync(this.#logFile, 'utf8')
  }

  /** @throws Error with what the server said, if it ends or takes too long. */
  async start(...extraArgs: string[]): Promise<void> {
    const { file, args, directory, ready, quit = 'SIGKILL', env } = this.#command
    if (this.#runs()) throw new Error('the server runs already')
    const log = openSync(this.#logFile, 'a')
    const begin = this.log().length
    // A file, because a pipe would keep this process from ending.
    const child = spawn(file, [...args, ...extraArgs], {
      cwd: directory.path,
      env: { ...process.env, ...env },
      stdio: ['ignore', log, log],
      // A signal to the group of the tests would end it without its children. Its directory sees to its end.
      detached: true,
      ...directory.owner,
    })
    closeSync(log)
    child.unref()
    let failure = 'it ended, or took too long'
    child.on('error', (error) => {
      failure = error.message
    })
    this.#child = child
    if (child.pid !== undefined) directory.watch(child, quit)
    const isReady = () => ready.test(this.log().slice(begin))
    await until('it is ready, or has ended', () => isReady() || !this.#runs()).catch(() => {})
    if (isReady()) return
    await this.kill()
    throw new Error(`${file} does not take connections: ${failure}. It said:\n${this.log().slice(begin)}`)
  }

  /** Asks the server to end, and waits for it. @throws Error if it does not. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const tree = this.#tree()
    this.#child?.kill(signal)
    await this.#ended(tree)
  }

  /** Kills every process of the server. */
  async kill(): Promise<void> {
    // Who stands still has no new children while the others are listed.
    this.#child?.kill('SIGSTOP')
    const tree = this.#tree()
    signalAll(tree, 'SIGKILL')
    await this.#ended(tree)
  }

  /** Halts every process of the server: connections stay, and nothing answers. */
  freeze(): void {
    this.#child?.kill('SIGSTOP')
    signalAll(this.#tree(), 'SIGSTOP')
  }

  thaw(): void {
    signalAll(this.#tree(), 'SIGCONT')
  }

  /** What tests do to a server, as functions of their own. */
  controls() {
    return {
      log: () => this.log(),
      start: () => this.start(),
      freeze: () => this.freeze(),
      thaw: () => this.thaw(),
      remove: () => this.remove(),
    }
  }

  /** Ends the server at once, and removes its directory. */
  async remove(): Promise<void> {
    this.thaw()
    await this.end(this.#command.quit ?? 'SIGKILL').catch(() => this.kill())
    this.#command.directory.remove()
  }

  #runs(): boolean {
    const child = this.#child
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null
  }

  /** Empty once the end of the server is known, because its id may then be another's. */
  #tree(): number[] {
    return this.#runs() && this.#child?.pid !== undefined ? processTree(this.#child.pid) : []
  }

  async #ended(tree: readonly number[]): Promise<void> {
    await until(
      () => `the server ends. It said:\n${this.log()}`,
      () => !this.#runs() && running(tree).length === 0,
    )
  }
}
